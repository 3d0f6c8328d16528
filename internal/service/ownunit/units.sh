#!/bin/sh
# Asks a machine about units of the provider's own, and changes them. Status 1 says that a unit is not as it shall be, and standard error
# has its own last words.
#
# usage: units.sh VERB ARGUMENT...   each verb is the function of its name
set -u

# fail_of fails with what a unit said last.
fail_of() {
	journalctl -q --no-pager -o cat -n 10 -u "$1" >&2
	echo "$1 does not run (systemctl status $1)" >&2
	exit 1
}

# activate DIRECTORY reload|- { stop|forget|start|restart|reload-or-restart|try-restart UNIT }...   Where the template went with its last
# instance, systemctl can stop one, and neither disable it nor clean up after it. A unit that failed too often would refuse to start.
activate() {
	directory=$1 reload=$2
	shift 2
	stopping=$#
	while [ "$stopping" -gt 0 ]; do # the arguments go round once: what stops goes first
		case $1 in
		stop) stop "$2" || exit 1 ;;
		forget) forget "$2" || exit 1 ;;
		*) set -- "$@" "$1" "$2" ;;
		esac
		shift 2
		stopping=$((stopping - 2))
	done
	[ "$reload" != reload ] || systemctl daemon-reload || exit 1
	while [ "$#" -gt 0 ]; do
		if [ "$1" != try-restart ]; then
			systemctl enable --quiet "$2" || exit 1
			systemctl reset-failed "$2" 2>/dev/null || :
		fi
		systemctl "$1" "$2" || fail_of "$2"
		shift 2
	done
	# Only what is empty goes.
	rmdir -- "$directory"/* "$directory" 2>/dev/null || :
}

# stop UNIT
stop() {
	systemctl stop "$1" || return 1
	systemctl reset-failed "$1" 2>/dev/null || :
	rm -f -- "/etc/systemd/system/multi-user.target.wants/$1"
}

# forget UNIT   stops it, and removes what it kept: StateDirectory= is the unit's name with a dash for the @.
forget() {
	stop "$1" || return 1
	kept=${1%.service}
	kept=${kept%%@*}-${kept#*@}
	rm -rf -- "/var/lib/$kept" "/var/lib/private/$kept"
}

# starts_at_boot UNIT
starts_at_boot() { systemctl is-enabled --quiet "$1" 2>/dev/null; }

# verify UNIT...
verify() {
	for unit; do
		systemctl is-active --quiet "$unit" || fail_of "$unit"
		starts_at_boot "$unit" || {
			echo "$unit runs, but will not after a restart of the machine (systemctl is-enabled $unit)" >&2
			exit 1
		}
	done
}

# running DIRECTORY UNIT MAIN   prints the units that have their files and do not run, or will not after a restart of the machine.
running() {
	for at in "$1"/*/"$3"; do
		[ -e "$at" ] || continue
		at=${at%/*}
		unit=$2@${at##*/}.service
		state=$(systemctl show --property=ActiveState --value -- "$unit") || exit 1
		case $state in
		active | reloading) starts_at_boot "$unit" || echo "$unit" ;;
		*) echo "$unit" ;;
		esac
	done
}

# listeners UNIT PORT   prints "tcp SOCKET USERS" for each socket that others than the unit listen at, as ss tells both.
listeners() {
	main=$(systemctl show --property=MainPID --value -- "$1") || exit 1
	ss -Hltnp "sport = :$2" | awk -v own="pid=${main:-0}," '!index($0, own) { print "tcp", $4, $NF }'
}

what=${1:-}
shift
case $what in
activate) activate "$@" ;;
verify) verify "$@" ;;
running) running "$@" ;;
listeners) listeners "$@" ;;
*)
	echo "usage: units.sh activate|verify|running|listeners" >&2
	exit 1
	;;
esac
