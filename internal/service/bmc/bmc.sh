#!/bin/sh
# What the provider asks of a hypervisor's machine for controllers of machines (BMCs), and does to it.
#
# usage: bmc.sh look NAME UNIT USER PROGRAM STATE
#                                               prints what is there, a line each: system, state, sum, user, group, unit, program, memory,
#                                               listen, address
#        bmc.sh account USER COMMENT SOCKET     makes the user where it is missing, with access to libvirt's socket
#        bmc.sh start UNIT                      has systemd run the unit as it is written, from now on and after each boot
#        bmc.sh remove UNIT USER PROGRAM STATE DIRECTORY
#                                               takes media out of drives, ends the unit and removes all of it, its configuration last
#
# Status 1 says that it cannot be done, and why is on standard error.
set -u

fail() {
	echo "$*" >&2
	exit 1
}

look() { # NAME UNIT USER PROGRAM STATE
	echo "system $(uname -s) $(uname -m)"
	echo "state $(systemctl show --property=ActiveState --value "$2")" || exit 1
	main=$(systemctl show --property=MainPID --value "$2")
	[ ! -e "$4" ] || { echo program && echo "sum $(sha256sum <"$4" | cut -d' ' -f1)"; }
	[ ! -e "/etc/systemd/system/$2" ] || echo unit
	comment=$(getent passwd "$3" | cut -d: -f5) && [ -n "$(getent passwd "$3")" ] && echo "user $comment"
	! getent group "$3" >/dev/null || echo group
	[ ! -e "$5" ] || echo memory
	# Of what listens, that of the unit itself is left out.
	ss -Hltunp 2>/dev/null | grep -v "pid=${main:-0}," | awk '{ print "listen", $1, $5 }'
	ip -o address show 2>/dev/null | awk '{ sub("/.*", "", $4); print "address", $4 }'
	exit 0
}

account() { # USER COMMENT SOCKET
	getent passwd "$1" >/dev/null || useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin --comment "$2" "$1" || exit 1
	for socket in "$3" /run/libvirt/libvirt-sock /run/libvirt/virtqemud-sock; do
		[ -S "$socket" ] || continue
		group=$(stat -c %G "$socket")
		[ "$group" != root ] || group=libvirt # systemd's socket units and PolicyKit let that one in
		getent group "$group" >/dev/null || continue
		usermod --append --groups "$group" "$1" || exit 1
		exit 0
	done
	fail "no socket of libvirt here has a group that the user $1 could be in: give libvirt's socket one (unix_sock_group in libvirtd.conf, or SocketGroup of its systemd unit), usually libvirt"
}

start() { # UNIT
	systemctl daemon-reload || exit 1
	systemctl enable --quiet "$1" || exit 1
	since=$(date '+%Y-%m-%d %H:%M:%S')
	systemctl restart "$1" && exit 0
	journalctl --quiet --unit="$1" --since="$since" --output=cat --lines=20 | grep -v '^Started\|^Starting\|^Stopp\|Scheduled restart\|Consumed' | tail -n 6 >&2
	exit 1
}

remove() { # UNIT USER PROGRAM STATE DIRECTORY
	[ ! -e "/etc/systemd/system/$1" ] || systemctl disable --quiet --now "$1" || exit 1
	if [ -x "$3" ] && [ -d "$4" ]; then
		"$3" bmc --clean --config "$5" --state "$4" || fail "the media that were inserted cannot be taken out of the drives, so nothing was removed"
	fi
	if [ -e "/etc/systemd/system/$1" ]; then
		rm -f "/etc/systemd/system/$1"
		systemctl daemon-reload
		systemctl reset-failed "$1" 2>/dev/null
	fi
	rm -f "$3" "$3.before"
	rm -rf "$4"
	! getent passwd "$2" >/dev/null || userdel "$2" || exit 1
	! getent group "$2" >/dev/null || groupdel "$2" || exit 1
	rm -rf "$5"
	rmdir --ignore-fail-on-non-empty /etc/virtcluster/bmc /etc/virtcluster 2>/dev/null
	exit 0
}

verb=$1
shift
"$verb" "$@"
