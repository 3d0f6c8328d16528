# shellcheck shell=sh
# Asks HAProxy's checker about a configuration as it is staged. Arguments: the main file; the directory that is read too where the unit reads
# it; "set" where the configuration sets HAProxy's own HTTP client, else ""; the stage; "yes" where this is the mount namespace, else "";
# this script's text. Status 70 says that the checker could not be asked.
#
# What is staged is mounted over the live paths, in a mount namespace of its own, for HAProxy finds other files relative to these
# (default-path), and to the directory that the unit runs in. Where there is no such namespace, the staged paths are checked as they are.
# Four fifths of a check go into reading the machine's certificate authorities for HAProxy's own HTTP client (2.6 and later), so it is asked
# without them first, unless the configuration sets that client. Only a yes counts: any other answer, an older HAProxy's too, which does not
# know the setting, is left to the check of these files alone.
cd /
main=$1 dir=$2 client=$3 stage=$4 mounted=$5
if [ -z "$mounted" ] && [ -e "$main" ] && unshare --mount true 2>/dev/null; then
	exec unshare --mount sh -c "$6" sh "$1" "$2" "$3" "$4" yes "$6"
elif [ -z "$mounted" ]; then
	main=$stage$main dir=$stage$dir
else
	mount --bind "$stage$main" "$main" || exit 70
	if [ -d "$stage$dir" ] && [ -d "$dir" ]; then mount --bind "$stage$dir" "$dir" || exit 70; fi
fi
if [ -d "$dir" ] && systemctl show --property=ExecStart,Environment haproxy.service | grep -q /etc/haproxy/conf.d; then
	set -- -f "$main" -f "$dir"
else
	set -- -f "$main"
fi
without_client() {
	haproxy -c -f /dev/stdin "$@" >/dev/null 2>&1 <<END
global
	httpclient.ssl.verify none
END
}
if [ "$client" != set ] && without_client "$@"; then exit 0; fi
exec haproxy -c "$@"
