# shellcheck shell=sh
# Looks at a machine that is to have a part of OVN, and changes it. The first argument says what:
#   look [ADDRESS]       prints lines of a word and more: "machine" and its id, "mtu" of the device that has ADDRESS, "ovn" and "openvswitch" with
#                        their versions, "stored" where there are files of OVN's databases, and "made" where these are none of a person's, "active" and each unit that runs, and "connection" with what
#                        ovn-controller says; "certificate" and the name and the content, in base64, of each that there is. One whose key is not there, or is
#                        that of the one before, is none: the key of a machine's certificate is written after it
#   start UNIT…          starts units, and waits until the databases answer that are among them
#   connected            waits until ovn-controller is connected to the databases; one that is not after 60 s is an error with what it says. It is had forget
#                        how far it has seen a cluster come (ovn-controller(8), sb-cluster-state-reset): one that became a lone database, and a cluster
#                        again, counts from its beginning, and would be taken for one that is behind until it has come as far
#   reach SIZE ADDRESS…  sends each address packets of SIZE bytes that must not be cut, and prints those that do not answer
#   leave UNIT…          stops units: ovn-controller takes its chassis out of the database as it ends
#   forget               removes the files of OVN's databases, which are stopped, and the note that they were made
#   forget-keys NAME…    removes certificates with their keys
set -eu
keys=/var/lib/virtcluster/ovn
what=$1
shift
case $what in
look)
  echo "machine $(cat /etc/machine-id 2>/dev/null)"
  [ $# -eq 0 ] || ip -o addr show | awk -v a="$1" '{ split($4, p, "/"); if (p[1] == a) print $2 }' | head -n 1 | while read -r device; do
    echo "mtu $(cat "/sys/class/net/$device/mtu") $device"
  done
  ! command -v ovn-nbctl >/dev/null 2>&1 || echo "ovn $(ovn-nbctl --version | sed -n '1s/.* //p')"
  ! command -v ovs-vsctl >/dev/null 2>&1 || echo "openvswitch $(ovs-vsctl --version | sed -n '1s/.* //p')"
  [ ! -e /var/lib/ovn/ovnnb_db.db ] || echo stored
  [ ! -e "$keys/made" ] || echo made
  for name in authority central chassis; do
    # shellcheck disable=SC3013 # dash, bash and busybox have -ot
    [ "$name" = authority ] || { [ -e "$keys/$name-key.pem" ] && ! [ "$keys/$name-key.pem" -ot "$keys/$name.pem" ]; } || continue
    [ ! -e "$keys/$name.pem" ] || echo "certificate $name $(base64 -w 0 "$keys/$name.pem")"
  done
  for unit in ovsdb-server ovs-vswitchd ovn-controller ovn-ovsdb-server-nb ovn-ovsdb-server-sb ovn-northd; do
    ! systemctl is-active --quiet "$unit.service" || echo "active $unit"
  done
  ! connection=$(ovn-appctl -T 5 -t ovn-controller connection-status 2>/dev/null) || echo "connection $connection"
  ;;
start)
  for unit; do systemctl is-active --quiet "$unit.service" || systemctl start "$unit.service"; done
  for unit; do
    case $unit in
    ovn-ovsdb-server-nb) ask='ovn-nbctl --no-leader-only' ;;
    ovn-ovsdb-server-sb) ask='ovn-sbctl --no-leader-only' ;;
    ovsdb-server) ask='ovs-vsctl --no-wait' ;;
    *) continue ;;
    esac
    tries=0
    # shellcheck disable=SC2086 # a command with its options
    until $ask --timeout=5 init 2>/dev/null; do
      tries=$((tries + 1))
      [ "$tries" -lt 100 ] || { $ask --timeout=5 init || exit 1; }
      sleep 0.2
    done
  done
  ;;
connected)
  tries=0
  until connection=$(ovn-appctl -T 5 -t ovn-controller connection-status 2>&1) && [ "$connection" = connected ]; do
    [ "$((tries % 25))" -gt 0 ] || ovn-appctl -T 5 -t ovn-controller sb-cluster-state-reset >/dev/null 2>&1 || :
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || { echo "$connection" >&2 && exit 1; }
    sleep 0.2
  done
  ;;
reach)
  size=$1
  shift
  for address; do
    tries=0
    until ping -q -c1 -W1 -M "do" -s $((size - 28)) "$address" >/dev/null 2>&1; do
      tries=$((tries + 1))
      [ "$tries" -lt 5 ] || { echo "$address" && break; }
    done
  done
  ;;
leave) for unit; do systemctl stop "$unit.service"; done ;;
forget-keys)
  for name; do rm -f "$keys/$name.pem" "$keys/$name-key.pem" "$keys/$name-authority.pem"; done
  rmdir "$keys" 2>/dev/null || :
  ;;
forget)
  rm -f /var/lib/ovn/ovnnb_db.db /var/lib/ovn/ovnsb_db.db /var/lib/ovn/.ovn?b_db.db.~lock~ "$keys/made"
  rmdir "$keys" "${keys%/ovn}" 2>/dev/null || :
  ;;
esac
