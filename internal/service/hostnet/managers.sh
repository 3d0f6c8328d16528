# shellcheck shell=sh
# Prints what manages the machine's devices: behind a line "== MANAGER" for each that is there and runs, or needs no daemon, its own words.
# Those of netplan are what its generator has against its files, and nothing else.
active() { systemctl is-active --quiet "$1" 2>/dev/null; }
if command -v nmcli >/dev/null 2>&1 && active NetworkManager; then
  echo '== networkmanager'
  nmcli --terse --escape no --fields DEVICE,STATE,CON-UUID device status || exit 1
  echo '== connections'
  nmcli --terse --escape no --fields UUID,FILENAME connection show || exit 1
fi
if active systemd-networkd; then
  echo '== systemd-networkd'
  networkctl --json=short list || exit 1
  echo
fi
if command -v netplan >/dev/null 2>&1; then
  echo '== netplan'
  copy=$(mktemp -d)
  for dir in /lib/netplan /etc/netplan /run/netplan; do
    for file in "$dir"/*.yaml; do
      if [ -f "$file" ]; then mkdir -p "$copy$dir" && cp -- "$file" "$copy$dir"; fi
    done
  done
  for generate in /usr/libexec/netplan/generate /lib/netplan/generate; do
    if [ -x "$generate" ]; then "$generate" -r "$copy" 2>&1 | sed "s|$copy||g" | grep -v 'WARNING\|too open'; break; fi
  done
  rm -rf "$copy"
fi
if command -v ifquery >/dev/null 2>&1; then
  echo '== ifupdown'
  for device in $(ip -o link show | sed 's/^[0-9]*: \([^:@]*\).*/\1/'); do
    if [ "$device" != lo ] && ifquery "$device" >/dev/null 2>&1; then echo "$device"; fi
  done
fi
