#!/bin/bash
# Runs a daemon whose monitor tells it by a socket to reload and to stop. One that was stopped begins with the next word to reload; one that
# ends otherwise begins anew, without the virtual addresses that a killed one leaves, as another machine may hold them by now. Arguments: the
# socket; the daemon's name; its signal to reload; these addresses; its command.
socket=$1 addresses=$4
export daemon=$2 signal=$3 stopped=/tmp/stopped
shift 4
rm -f "$socket" "$stopped"
heed() {
	while read -r word; do
		case $word in
		reload) rm -f "$stopped" && pkill "-$signal" -o -x "$daemon" ;;
		stop) touch "$stopped" && pkill -TERM -o -x "$daemon" ;;
		esac
	done
}
export -f heed
socat "UNIX-LISTEN:$socket,fork" 'EXEC:bash -c heed' &
listener=$!
trap 'kill "$listener"; pkill -TERM -o -x "$daemon"; wait; exit' TERM
while :; do
	for vip in $addresses; do
		ip -o address show to "$vip" | while read -r _ device _ address _; do ip address del "$address" dev "$device"; done
	done
	"$@" &
	wait $!
	sleep 1
	while [ -e "$stopped" ]; do sleep 1; done
done
