# shellcheck shell=sh
# Has the machine hand over its virtual addresses, by what is in the files that keepalived watches. Without a systemd that takes the order
# back nothing is done.
#
# usage: yield.sh begin VALUE SECONDS FILE...   writes VALUE, which is taken back after SECONDS
#        yield.sh look FILE...                  prints "yes" where an order is in force
#        yield.sh end FILE...                   takes an order back
verb=$1
shift
case $verb in
begin)
	set -e
	value=$1 time=$2
	shift 2
	systemctl stop virtcluster-keepalived-yield.timer 2>/dev/null || :
	systemd-run --quiet --collect --unit=virtcluster-keepalived-yield --on-active="$time" /bin/sh -c 'for f; do [ ! -e "$f" ] || echo 0 >"$f"; done' sh "$@"
	for f; do [ ! -e "$f" ] || echo "$value" >"$f"; done
	;;
look)
	for f; do [ ! -s "$f" ] || [ "$(cat "$f")" = 0 ] || { echo yes; break; }; done
	;;
end)
	for f; do [ ! -s "$f" ] || [ "$(cat "$f")" = 0 ] || echo 0 >"$f"; done
	;;
esac
