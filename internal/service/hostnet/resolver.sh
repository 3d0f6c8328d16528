# shellcheck shell=sh
# Prints where /etc/resolv.conf leads and what it says. Where it names systemd-resolved's own stub alone, what that one asks is printed
# instead. Argument: the root of the file system, "" for the machine's.
file=$(readlink -f "$1/etc/resolv.conf")
echo "${file#"$1"}"
real=$1/run/systemd/resolve/resolv.conf
if [ "$(awk '$1 == "nameserver" { print $2 }' "$file" 2>/dev/null)" = 127.0.0.53 ] && [ -r "$real" ]; then file=$real; fi
cat "$file" 2>/dev/null || :
