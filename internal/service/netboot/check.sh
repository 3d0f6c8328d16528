# shellcheck shell=sh
# Has the provider's program look at the staged configuration in the directory $2, by the unit that is staged below $1. Its words go to
# standard error, and its status is the script's.
set -u
unit=$1/etc/systemd/system/virtcluster-boot@.service
program=$(sed -n 's/^ExecStart=\([^ ]*\) netboot .*/\1/p' "$unit")
[ -x "$program" ] || { echo "there is no program $program any more: apply the virtcluster_boot_server again" >&2 && exit 1; }
exec "$program" netboot -check -config "$2"
