# shellcheck shell=sh
# Prints a line "held HOLDER DEVICE ADDRESS" for each address that something holds: those in the blocks of keepalived's configuration
# (keepalived.conf(5)), where an exclamation mark begins a comment too, and those that exposures put on devices since the machine started.
# While a change of keepalived is under way, so are those of its configuration of before: it lets an address go a moment later. The device is
# "-" where it may be any. Argument: the root of the file system, "" for the machine's.
journal=$1/var/lib/virtcluster/keepalived/journal.json
if [ -d "$1/etc/keepalived" ]; then
  {
    find "$1/etc/keepalived" -type f -size -2048 -exec cat {} +
    tr ',{}' '\n' <"$journal" | sed -n 's/^"Content":"\(.*\)"$/\1/p' | while read -r content; do echo "$content" | base64 -d; done
  } 2>/dev/null | awk '
    { sub(/[#!].*/, ""); gsub(/[{}]/, " & ") }
    { for (i = 1; i <= NF; i++) {
        if ($i ~ /^(virtual_ipaddress|virtual_ipaddress_excluded|static_ipaddress)$/) begins = 1
        else if ($i == "{") { inside = begins; begins = 0 }
        else if ($i == "}") inside = 0
        else if (inside && $i ~ /^[0-9a-fA-F.:]+(\/[0-9]+)?$/ && $i ~ /[.:]/ && $(i - 1) !~ /^(brd|broadcast|label)$/) print "held keepalived -", $i
      } }'
fi
file=$1/run/virtcluster-exposure/addresses
if [ -r "$file" ]; then sed 's/^/held exposure /' "$file"; fi
