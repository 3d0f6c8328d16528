# shellcheck shell=sh
# Takes from the marks of an owner, in those of the files that are there, that the thing is being made, and from the names that devices are
# given (ifalias). Nothing is told to read the files: what they mean is the same. Arguments: the owner; patterns that match the files.
set -eu
mark="owner=$1\( workspace=[0-9a-f]*\)\{0,1\}"
shift
# shellcheck disable=SC2048 # they are for the shell to match, and have no blanks
for path in $*; do
  if [ ! -f "$path" ] || ! grep -q -- "$mark creating=[0-9a-z.]" "$path"; then continue; fi
  file=$(readlink -f -- "$path")
  new=$(mktemp -- "$file.XXXXXX")
  trap 'rm -f -- "$new"' EXIT
  cp -a -- "$file" "$new"
  sed "s/\($mark\) creating=[0-9a-z.]*/\1/g" "$file" >"$new"
  sync -- "$new"
  # What is a mount of its own, as /etc/resolv.conf of a container, cannot be replaced.
  mv -fT -- "$new" "$file" 2>/dev/null || cat "$new" >"$file"
done
for device in /sys/class/net/*; do
  grep -q -- "$mark creating=[0-9a-z.]" "$device/ifalias" 2>/dev/null || continue
  ip link set dev "${device##*/}" alias "$(sed "s/\($mark\) creating=[0-9a-z.]*/\1/g" "$device/ifalias")"
done
