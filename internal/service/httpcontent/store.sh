# shellcheck shell=sh
# Keeps files by their SHA-256 in a directory, from which a server reads them.
#
# usage: store.sh damaged DIRECTORY SUM...         prints the sums of those that are missing or are something else by now
#        store.sh finish DIRECTORY SUM             makes what append.sh appended the file, where it has that sum
#        store.sh collect DIRECTORY CONFIGURATION  removes what no file below CONFIGURATION names, and the directory with the last one
#
# What was found to be whole is not read again while its inode says that nobody has touched it. Status 1 says that it cannot be done, and why is
# on standard error.
set -u
directory=$2

# touched FILE   prints what changes with every change of a file.
touched() { stat -c '%i %s %.9Y %.9Z' -- "$1"; }

damaged() {
	for sum; do
		at=$directory/$sum
		[ -f "$at" ] || { echo "$sum" && continue; }
		now=$(touched "$at") || exit 1
		[ "$(cat "$at.seen" 2>/dev/null)" != "$now" ] || continue
		if [ "$(sha256sum <"$at" | cut -d ' ' -f 1)" = "$sum" ]; then echo "$now" >"$at.seen"; else echo "$sum"; fi
	done
}

finish() {
	part=$directory/$1.part
	if [ "$(sha256sum <"$part" | cut -d ' ' -f 1)" != "$1" ]; then
		rm -f -- "$part"
		echo "what arrived has another checksum" >&2
		exit 1
	fi
	chmod 644 "$part" && sync "$part" && mv -f -- "$part" "$directory/$1"
}

collect() {
	for file in "$directory"/*; do
		name=${file##*/}
		name=${name%%.*}
		[ -e "$file" ] || continue
		grep -rqsF -- "$name" "$1" || rm -f -- "$file"
	done
	rmdir -- "$directory" 2>/dev/null || :
}

verb=$1
shift 2
"$verb" "$@"
