# shellcheck shell=sh
# Prints what a machine has that no resource reads, a line each: "file PATH" of a file with a line that is no comment, "files N PATH" of a
# directory with N files in it, at most 1000, and "rules PROGRAM TABLE" of a table of packet filters that is not the provider's. Arguments:
# patterns of files, and directories, which end with a "/".
set -u
for pattern; do
  # shellcheck disable=SC2086 # it is a pattern
  for path in $pattern; do
    case $path in
    */)
      count=$(find "$path" -xdev ! -type d 2>/dev/null | head -n 1000 | wc -l)
      [ "$count" -eq 0 ] || echo "files $count $path"
      ;;
    *) ! grep -qs '^[[:space:]]*[^#[:space:]]' "$path" || echo "file $path" ;;
    esac
  done
done
others='ip6tables-legacy-save iptables-legacy-save'
if command -v nft >/dev/null 2>&1; then
  nft list tables 2>/dev/null | grep -v '^table inet virtcluster\(_[a-z_]*\)*$' | sed 's/^table /rules nftables /'
else
  others="$others ip6tables-save iptables-save"
fi
for program in $others; do
  command -v "$program" >/dev/null 2>&1 || continue
  "$program" 2>/dev/null | awk -v program="${program%-save}" '/^\*/ { name = substr($0, 2) } /^-A/ && !told[name]++ { print "rules", program, name }'
done
