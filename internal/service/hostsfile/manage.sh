# shellcheck shell=sh
# Prints the file that says last whether cloud-init manages /etc/hosts, and what that says, where cloud-init is there and runs at each start.
# What an instance was given counts before what its image says. Argument: the root of the file system, "" for the machine's.
[ -e "$1/usr/bin/cloud-init" ] && [ ! -e "$1/etc/cloud/cloud-init.disabled" ] || exit 0
for file in "$1/etc/cloud/cloud.cfg" "$1"/etc/cloud/cloud.cfg.d/*.cfg "$1/var/lib/cloud/instance/vendor-cloud-config.txt" "$1/var/lib/cloud/instance/cloud-config.txt"; do
  value=$(sed -n 's/^manage_etc_hosts:[[:space:]]*//p' "$file" 2>/dev/null | tail -n 1)
  [ -z "$value" ] || printf '%s\n%s\n' "${file#"$1"}" "$value"
done | tail -n 2
