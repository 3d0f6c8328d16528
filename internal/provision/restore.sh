# shellcheck shell=sh
# Makes units as enabled and as active as they were. Arguments, for each: the unit; "enable" or "disable"; "start", "stop" or "leave". A unit
# that is gone, with its package, has nothing to restore; one that cannot be enabled (static) needs no restoring. systemd reloads itself once
# for all that it disables, which is why they go together. What is stopped with a unit (PartOf=) is named too: systemctl waits for no others.
enable='' disable='' start='' stop=''
while [ $# -gt 0 ]; do
  state=$(systemctl show --property=LoadState,UnitFileState,ActiveState "$1") || exit 1
  case $state in *LoadState=loaded*)
    case "$state,$2" in
    *UnitFileState=enabled*,enable | *UnitFileState=disabled*,disable) ;;
    *UnitFileState=static* | *UnitFileState=indirect* | *UnitFileState=generated*) ;;
    *,enable) enable="$enable $1" ;;
    *,disable) disable="$disable $1" ;;
    esac
    case "$state,$3" in
    *ActiveState=active*,start | *ActiveState=inactive*,stop) ;;
    *,start) start="$start $1" ;;
    *,stop) stop="$stop $1" ;;
    esac
  esac
  shift 3
done
# shellcheck disable=SC2086 # these are names of units, without blanks
{
  [ -z "$disable" ] || systemctl disable --quiet $disable || exit 1
  [ -z "$enable" ] || systemctl enable --quiet $enable || exit 1
  [ -z "$stop" ] || parts=$(systemctl show --property=ConsistsOf --value $stop) || exit 1
  [ -z "$stop" ] || systemctl stop $stop $parts || exit 1
  [ -z "$start" ] || systemctl start $start || exit 1
}
