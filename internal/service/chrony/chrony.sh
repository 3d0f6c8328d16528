# shellcheck shell=sh
# Has chronyd look at its configuration, and take it. Status 1 says that it does not, and standard error has its own words.
#
# usage: chrony.sh check FILE | start | verify | end | running FILE | besides FILE
set -u
unit=chrony.service

fail() {
	echo "$*" >&2
	exit 1
}

case $1 in
check) # the lines by themselves: what is around them is not the provider's, and Debian's profile of AppArmor lets chronyd read no file elsewhere
	grep -qs '^[[:space:]]*\(confdir\|include\)[[:space:]].*/etc/chrony/conf\.d' /etc/chrony/chrony.conf ||
		fail "/etc/chrony/chrony.conf does not read /etc/chrony/conf.d: write \"confdir /etc/chrony/conf.d\" into it"
	staged=$2
	set --
	while IFS= read -r line; do
		case $line in '#'* | '') ;; *) set -- "$@" "$line" ;; esac
	done <"$staged" || exit 1
	chronyd -p -f /dev/null "$@" >/dev/null || exit 1
	;;
start)
	systemctl reset-failed "$unit" 2>/dev/null || :
	systemctl restart "$unit" || { journalctl -q --no-pager -o cat -n 10 -u "$unit" >&2 && exit 1; }
	;;
verify)
	systemctl is-active --quiet "$unit" || fail "$unit does not run (systemctl status $unit): a machine that may not set its clock, such as a container, takes a drop-in that has chronyd leave it alone (-x)"
	n=0
	until [ -n "$(ss -Hlun 'sport = :123')" ]; do
		[ $((n += 1)) -lt 50 ] || fail "$unit runs and does not listen at port 123"
		sleep 0.1
	done
	;;
end) # one that runs goes on without the file
	! systemctl is-active --quiet "$unit" || systemctl restart "$unit"
	;;
running)
	[ -e "$2" ] || exit 0
	systemctl is-active --quiet "$unit" || echo "$unit"
	;;
besides)
	for file in /etc/chrony/conf.d/*.conf /etc/chrony/sources.d/*.sources; do
		[ ! -e "$file" ] || [ "$file" = "$2" ] || echo "$file"
	done
	;;
esac
