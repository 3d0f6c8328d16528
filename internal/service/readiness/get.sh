# shellcheck shell=sh
# Asks for a URL and prints the body, and the status in a last line. Arguments: the URL; further options of curl. Input: certificates of the
# authorities to trust, where these are not the machine's. Status 127 says that there is no curl, any other one is curl's.
command -v curl >/dev/null || { echo "there is no curl" >&2; exit 127; }
url=$1; shift
set -- --silent --show-error --location --max-time 9 --noproxy '*' --max-filesize 1048576 --write-out '\n%{http_code}' "$@"
ca=$(mktemp) && trap 'rm -f "$ca"' EXIT
cat >"$ca"
[ ! -s "$ca" ] || set -- "$@" --cacert "$ca"
curl "$@" -- "$url"
