# shellcheck shell=sh
# Prints what a machine has of services, as lines of fields that are in base64, as what a daemon says of itself may hold anything, but for
# the first: "os" and os-release; "record" and the record, where there is one; "version", a service and what its command says; "units" and
# what systemd says of all units, in their order with an empty line between them; at last "end". All are asked side by side, as every answer
# costs the start of a few processes; each line is short enough to be written in one piece. Arguments: the record's path; then name, command,
# version command and unit of each service. A command may be a file that is only read.
field() { base64 -w 0; printf ' '; }
command -v systemctl >/dev/null 2>&1 || { echo "systemd does not run this machine: there is no systemctl" >&2; exit 1; }
# shellcheck disable=SC2002 # a machine may have none
echo os "$(cat /etc/os-release 2>/dev/null | field)"
[ ! -e "$1" ] || echo record "$(field <"$1")" || exit 1
shift
units=
while [ $# -gt 0 ]; do
  if command -v "$2" >/dev/null 2>&1 || [ -f "$2" ]; then
    echo version "$1" "$( (eval "$3") 2>&1 </dev/null | head -n 5 | field)" &
  fi
  units="$units $4"
  shift 4
done
# shellcheck disable=SC2086 # names of units have no blanks
states=$(systemctl show --property=LoadState,UnitFileState,ActiveState $units) || exit 1
echo units "$(printf '%s\n' "$states" | field)"
wait
echo end
