# shellcheck shell=sh
# Has the master process of HAProxy reload, or starts HAProxy, now and at boot, where it does not run; status 2 says that it did not run and
# does not start. Arguments: the socket that it answers on, "" where that is not known; the text of talk.sh.
#
# After a reload it waits for the new worker: until it is a process, and then, where the socket is known, until it answers there. Asking is
# left until then, and pauses grow, because on a slow machine every question takes from the time that the new worker needs to start. A unit
# that reloads by a check and a signal, as the distributions' do, is given the signal alone: these very bytes were checked a moment ago, and
# a check costs a third of a reload. A master whose new configuration does not work (an address in use, which the checker cannot see) keeps
# the old worker and says so in the journal only, in several messages. Those of an earlier reload may be milliseconds old, and one that is
# late does not count once the new worker is there. Of a start that failed, the last words may be on their way into the journal yet, and
# those of the stop before it are no reason.
log() { journalctl --no-pager --output=cat --unit=haproxy.service "$@"; }
start() {
	systemctl reset-failed haproxy.service 2>/dev/null
	started=$(date +%s.%N)
	systemctl enable --quiet haproxy.service && systemctl start haproxy.service && exit 0
	journalctl --sync 2>/dev/null
	log "--since=@$started" >&2
	exit 2
}
state='' main='' signal='' other=''
while IFS='=' read -r key value; do
	case $key=$value in
	ActiveState=*) state=$value ;;
	MainPID=*) main=$value ;;
	ExecReload=*/haproxy\ *-c\ *) signal= ;;
	ExecReload=*/kill\ -USR2\ '$MAINPID'\ \;*) signal=yes ;;
	ExecReload=*) other=yes ;;
	esac
done <<END
$(systemctl show --property=ActiveState,MainPID,ExecReload haproxy.service)
END
case $state in
active | reloading) ;;
*) start ;;
esac
workers() { read -r children <"/proc/$main/task/$main/children"; children=" $children "; }
fresh() { # one of the processes that was not there before
	for pid; do
		case $before in
		*" $pid "*) ;;
		*) return 0 ;;
		esac
	done
	return 1
}
# shellcheck disable=SC2046,SC2086 # each process is a word
serves() {
	workers
	fresh $children || return 1
	if [ -z "$1" ]; then sleep 0.5; else fresh $(echo "show info" | sh -c "$2" sh "$1" 2>/dev/null | sed -n "s/^Pid: //p") || return 1; fi
	[ -d "/proc/$pid" ]
}
pause() {
	case $1 in
	[1-4]) sleep 0.02 ;;
	[5-7]) sleep 0.05 ;;
	[89]) sleep 0.1 ;;
	*) sleep 0.25 ;;
	esac
}
since=$(date +%s.%N)
workers
before=$children
if [ "$signal" = yes ] && [ -z "$other" ]; then kill -USR2 "$main"; else systemctl reload haproxy.service; fi && {
	i=0 failed=0
	while [ $i -lt 120 ] && [ $failed -lt 2 ]; do
		serves "$@" && exit 0
		i=$((i+1))
		pause $i
		if [ $i -ge 8 ] && [ $((i%4)) = 0 ] && log "--since=@$since" | grep -q -e "Failed to load" -e "Reload failed" -e "Loading failure"; then failed=$((failed+1)); fi
	done
}
log "--since=@$since" >&2
exit 1
