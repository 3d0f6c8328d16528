# shellcheck shell=sh
# Removes a stage, and the paths behind it, with the copies that a swap which was killed left beside the files that it was to replace: the
# files of each stage are named as those are. The copy of a file that was to be written in place goes where the file is as it was: any other is all
# that is left of it. Arguments: the directory of all stages; what goes besides.
if [ -d "$1" ]; then
	find "$1" -mindepth 2 -type f | while IFS= read -r staged; do
		file=/${staged#"$1"/*/}
		[ ! -L "$file" ] || file=$(readlink -f -- "$file") || continue
		[ ! -e "$file.virtcluster-new" ] || rm -f -- "$file.virtcluster-new"
		! cmp -s -- "$file.virtcluster-old" "$file" || rm -f -- "$file.virtcluster-old"
	done
fi
rm -rf -- "$@"
