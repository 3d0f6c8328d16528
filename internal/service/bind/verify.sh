# shellcheck shell=sh
# Proves that named answers and serves the serials of its input, one "ZONE VIEW SERIAL" a line. named needs a moment to load a zone, so one
# that is missing is asked for again. Where a zone does not come, what named says of it goes to standard error, and the status is 1.
set -u
serves() {
	status=$(rndc zonestatus "$zone" IN "$view" 2>&1)
	case "
$status
" in
	*"
serial: $serial
"*) ;;
	*) return 1 ;;
	esac
}
asked=
while read -r zone view serial; do
	asked=yes tries=0
	until serves; do
		tries=$((tries+1))
		if [ $tries -ge 60 ]; then
			echo "zone $zone in view $view does not serve serial $serial:" >&2
			echo "$status" >&2
			journalctl -q -u named -n 100 --no-pager -o cat | grep -F "zone $zone/IN/$view:" | tail -n 3 >&2
			exit 1
		fi
		if [ $((tries%10)) -eq 0 ]; then rndc reload "$zone" IN "$view" >/dev/null 2>&1; fi
		sleep 0.05
	done
done
[ -n "$asked" ] || rndc status >/dev/null
