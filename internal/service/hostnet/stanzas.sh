# shellcheck shell=sh
# Prints the files that have stanzas of devices, or of ones that were turned into comments; and fails where the directory is not read.
# Arguments: the devices.
grep -Eq '^[[:space:]]*source(-directory)?[[:space:]]+(/etc/network/)?interfaces\.d' /etc/network/interfaces || {
  echo '/etc/network/interfaces does not read /etc/network/interfaces.d: add "source /etc/network/interfaces.d/*" to it' >&2
  exit 1
}
for file in /etc/network/interfaces /etc/network/interfaces.d/*; do
  case $file in */virtcluster-*) continue ;; esac
  [ -f "$file" ] || continue
  for device; do
    if grep -qwF -e "$device" "$file"; then echo "$file"; break; fi
  done
done
