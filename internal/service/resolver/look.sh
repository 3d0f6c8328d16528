# shellcheck shell=sh
# Prints what resolves the machine's names, a line each: "target" and where /etc/resolv.conf leads; "stat" with its mode, owner and group;
# "resolved" where systemd-resolved runs; "global" and each file of a person's that gives it name servers for every name; "mode" and what
# NetworkManager does with names, where that runs; what rewriters prints; and then each file of its arguments that is there, with a newline
# behind it, after a line "== PATH".

# rewriters prints a line "client PROGRAM" for each DHCP client that runs, or that ifupdown will start, and would write /etc/resolv.conf; and
# a line "hooks" where dhclient's script runs hooks. A dhclient with another script is NetworkManager's.
rewriters() {
  {
    for comm in /proc/[0-9]*/comm; do
      read -r program <"$comm" || continue
      case $program in
      dhclient) tr '\0' ' ' <"${comm%comm}cmdline" | grep -q ' -sf ' || echo "client $program" ;;
      dhcpcd | udhcpc) echo "client $program" ;;
      esac
    done
    if cat /etc/network/interfaces /etc/network/interfaces.d/* | grep -Eq '^[[:space:]]*iface[[:space:]]+[^[:space:]]+[[:space:]]+inet6?[[:space:]]+dhcp'; then
      for program in dhclient dhcpcd udhcpc; do
        if command -v "$program" >/dev/null; then echo "client $program"; break; fi
      done
    fi
  } 2>/dev/null | if grep -Eqs '^[[:space:]]*nohook[[:space:]].*resolv\.conf' /etc/dhcpcd.conf; then grep -v dhcpcd; else cat; fi | sort -u
  if [ -d /etc/dhcp/dhclient-enter-hooks.d ] && grep -qs 'dhclient-enter-hooks\.d' /sbin/dhclient-script /usr/sbin/dhclient-script; then echo hooks; fi
}

echo "target $(readlink -f /etc/resolv.conf)"
echo "stat $(stat -L -c '%a %U %G' /etc/resolv.conf 2>/dev/null)"
if systemctl is-active --quiet systemd-resolved 2>/dev/null; then echo resolved; fi
grep -ls '^[[:space:]]*DNS[[:space:]]*=[[:space:]]*[^[:space:]]' /etc/systemd/resolved.conf /etc/systemd/resolved.conf.d/*.conf /run/systemd/resolved.conf.d/*.conf \
  /usr/lib/systemd/resolved.conf.d/*.conf | grep -v '/90-virtcluster\.conf$' | sed 's/^/global /'
if systemctl is-active --quiet NetworkManager 2>/dev/null; then
  echo "mode $(busctl get-property org.freedesktop.NetworkManager /org/freedesktop/NetworkManager/DnsManager org.freedesktop.NetworkManager.DnsManager Mode 2>/dev/null | tr -d '"' | cut -d' ' -f2)"
fi
rewriters
for file; do if [ -f "$file" ]; then echo "== $file"; cat "$file"; echo; fi; done
