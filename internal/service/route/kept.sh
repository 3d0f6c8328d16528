# shellcheck shell=sh
# Prints the path of the first file that matches one of its arguments, which are patterns; the .network file that systemd-networkd applies to
# the device that the file is for; and its content. networkctl reads the same file of systemd-networkd's.
# shellcheck disable=SC2048 # they are for the shell to match, and have no blanks
for path in $*; do
  [ -f "$path" ] || continue
  device=$(sed -n 's/^# virtcluster .*device=\([^ ]*\) .*/\1/p' "$path")
  index=$(cat "/sys/class/net/$device/ifindex" 2>/dev/null)
  printf '%s\n%s\n' "$path" "$(sed -n 's/^NETWORK_FILE=//p' "/run/systemd/netif/links/$index" 2>/dev/null)"
  cat "$path"
  exit
done
