# shellcheck shell=sh
# Prints the name servers and the domains that a device's configuration gives to the machine, as lines "dns WORDS" and "search WORDS".
# Arguments: the backend; the device; the UUID of NetworkManager's connection; the file of systemd-networkd.
case $1 in
networkmanager)
  nmcli --terse --escape no --fields ipv4.dns,ipv6.dns,ipv4.dns-search,ipv6.dns-search connection show uuid "$3" |
    sed -n 's/,/ /g; s/^ipv[46]\.dns:\(..*\)/dns \1/p; s/^ipv[46]\.dns-search:\(..*\)/search \1/p' ;;
systemd-networkd | netplan) sed -n 's/^DNS=/dns /p; s/^Domains=/search /p' "$4" ;;
ifupdown) ifquery "$2" | sed -n 's/^dns-nameservers\{0,1\}: /dns /p; s/^dns-search: /search /p; s/^dns-domain: /search /p' ;;
esac
