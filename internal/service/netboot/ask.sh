# shellcheck shell=sh
# Asks for the first byte of each of the URLs $1…, and prints "N WORDS" for each, by its number from 0, that is not answered with a file.
# Status 3 where there is no curl to ask by.
set -u
command -v curl >/dev/null || exit 3
n=0
for url; do
	said=$(curl -sSL -o /dev/null --range 0-0 --max-filesize 1048576 --connect-timeout 5 --max-time 15 -w '\nanswers %{http_code}\n' -- "$url" 2>&1)
	case $said in
	*"answers 200"* | *"answers 206"*) ;;
	*"answers 000"*) printf '%s %s\n' "$n" "$(printf '%s\n' "$said" | sed -n 's/^curl: ([0-9]*) //p' | head -n 1)" ;;
	*) printf '%s it %s\n' "$n" "$(printf '%s\n' "$said" | sed -n 's/^\(answers [0-9]*\)$/\1/p')" ;;
	esac
	n=$((n + 1))
done
