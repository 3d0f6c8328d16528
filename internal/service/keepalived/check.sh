# shellcheck shell=sh
# Checks a configuration by keepalived -t. keepalived 2.2.7 ends its check by a signal to itself where a script has another user than root,
# though it runs such a script well: so it is asked about a copy with root in their place, and the users are looked up here. Scripts that the
# provider puts on the machine are on the stage as well. Arguments: the file; the stage that it is on; the directory of these scripts; the
# users of scripts.
umask 077 # the copy has the passwords of the original, and outlives a run that is killed
file=$1 stage=$2 scripts=$3
shift 3
for user; do id -u -- "$user" >/dev/null || exit 1; done
sed -e 's/^    user [a-z_][a-z0-9_-]*$/    user root/' -e "s|^    script \"$scripts/|    script \"$stage$scripts/|" "$file" >"$file.check" || exit 1
exec keepalived -t -f "$file.check"
