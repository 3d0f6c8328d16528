# shellcheck shell=sh
# Moves staged files over the live ones. Arguments: the stage, what commits keep ("" for a swap that keeps nothing), how many files to
# write, these, then those to remove. The stage has the sums of what was read, and where one is not what is there just before the first
# file changes, nothing is changed and the status is 76: somebody has edited the file since. It has a journal and perhaps the original,
# which go to what is kept; an original that is there stays. Every copy and the journal are on disk before the first file is replaced, so
# a full disk, or a first file that may not be replaced, changes nothing and is status 75; the replacements follow each other within
# milliseconds. Directories of the provider's own, named virtcluster, go with their last file. Where starting a process takes long, this
# is what takes long: what can be done for all files at once is.
set -eu
stage=$1 kept=$2 count=$3; shift 3
all=$#
added='' # what this swap put to what is kept
news() { # then the arguments are the copies, and what is staged to be kept
	i=0
	for f; do [ $((i+=1)) -gt "$count" ] || { lead "$f"; set -- "$@" "$file.virtcluster-new"; }; done
	if [ -n "$kept" ]; then
		set -- "$@" "$stage/journal.json"
		[ ! -e "$stage/original.json" ] || set -- "$@" "$stage/original.json"
	fi
	shift "$all"
	# shellcheck disable=SC2154 # who calls it sets then
	[ $# = 0 ] || "$then" "$@"
}
keep() {
	added=$kept/journal.json
	if [ -e "$stage/original.json" ] && [ ! -e "$kept/original.json" ]; then
		mv -f -t "$kept" "$stage/original.json" "$stage/journal.json" && added="$added $kept/original.json"
	else
		mv -f -t "$kept" "$stage/journal.json"
	fi && sync "$kept"
}
copy() {
	i=0
	for f; do
		[ $((i+=1)) -le "$count" ] || break
		lead "$f"
		[ -d "${file%/*}" ] || (umask 022 && mkdir -p "${file%/*}") || exit 1
		cp --remove-destination --preserve=mode,ownership "$stage$f" "$file.virtcluster-new" || exit 1
		[ ! -e "$file" ] || inherit "$file" "$file.virtcluster-new"
	done
	then=sync news "$@" || exit 1
}
# findAll ends where a link leads nowhere.
findAll() {
	i=0
	for f; do [ $((i+=1)) -gt "$count" ] || lead "$f"; done
}
asRead() {
	[ ! -s "$stage/read.sums" ] || sha256sum -c "$stage/read.sums" >/dev/null 2>&1 || return 1
	[ ! -e "$stage/read.absent" ] || while IFS= read -r f; do [ ! -e "$f" ] || return 1; done <"$stage/read.absent"
}
forget() { rm -f -- "$@" || :; } # fails where the disk became read-only
# prune removes a directory of the provider's own, and those above it that are, where they are empty.
prune() {
	while case $1 in */virtcluster | */virtcluster/*) rmdir "$1" 2>/dev/null ;; *) false ;; esac do set -- "${1%/*}"; done
}
# giveUp ends with a status after nothing of what follows is left: the copies, the directories made for them, and what was added to what is
# kept.
giveUp() {
	status=$1; shift
	then=forget news "$@"
	for f; do prune "${f%/*}"; done
	# shellcheck disable=SC2086 # the paths are the provider's own, without blanks
	[ -z "$added" ] || forget $added
	exit "$status"
}
asRead || exit 76
(findAll "$@") || exit 75
(copy "$@") || giveUp 75 "$@"
asRead || giveUp 76 "$@"
[ -z "$kept" ] || keep || giveUp 75 "$@"
# failpoint swap/copied
i=0
for f; do
	[ $((i+=1)) -le "$count" ] || break
	lead "$f"
	made=
	[ -z "$selinux" ] || [ -e "$file" ] || made=yes
	place "$file.virtcluster-new" "$file" || {
		[ "$i" -gt 1 ] || giveUp 75 "$@"
		added='' # the journal says how to put back the files before this one
		giveUp 1 "$@"
	}
	# failpoint swap/moved
	[ -z "$made" ] || restorecon -- "$file" || :
done
i=0
for f; do [ $((i+=1)) -le "$count" ] || rm -f "$f"; done
# failpoint swap/removed
i=0
for f; do [ $((i+=1)) -le "$count" ] || prune "${f%/*}"; done
i=0 last=
for f; do
	if [ $((i+=1)) -le "$count" ]; then lead "$f"; else file=$f; fi
	d=${file%/*}
	until [ -d "$d" ]; do d=${d%/*}; done
	[ "$d" = "$last" ] || set -- "$@" "$d"
	last=$d
done
shift "$all"
[ $# = 0 ] || sync "$@"
