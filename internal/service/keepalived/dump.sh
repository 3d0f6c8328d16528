# shellcheck shell=sh
# Asks keepalived for its data as JSON and prints it once it is whole. keepalived has no other way to be asked than a signal and a file with a
# fixed name in /tmp, or where systemd gives it one, in its own. Two who ask at the same time would take that file from each other. Arguments:
# the directory of locks; the text of lockdir.sh, which makes it. Status 3 says that keepalived does not run, 4 that it does not answer.
pid=$(systemctl show --property=MainPID --value keepalived.service)
[ "${pid:-0}" -gt 0 ] || exit 3
eval "$2"
exec 9>>"$1/keepalived-dump" && flock -w 30 9 || exit 1
own=/proc/$pid/root
file=$own/tmp/keepalived.json
rm -f "$file"
kill -"$(keepalived --signum=JSON)" "$pid" || exit 3
i=0
until tail -c 2 "$file" 2>/dev/null | grep -q ']'; do
	i=$((i+1))
	[ $i -lt 200 ] || { echo "keepalived did not answer within 10 s" >&2; exit 4; }
	sleep 0.05
done
cat "$file"
rm -f "$file"
