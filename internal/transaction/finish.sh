# shellcheck shell=sh
# Writes the rest of files that a swap was writing in place when the machine lost its power. Arguments: the files. It begins with place.sh.
for f; do
	[ ! -L "$f" ] || f=$(readlink -f -- "$f") || continue
	finish "$f" || exit 1
done
