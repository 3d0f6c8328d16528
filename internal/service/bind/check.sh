# shellcheck shell=sh
# Runs named-checkconf over a copy of the configuration directory with the staged files in it, mounted over the live one: it has to have a
# mount namespace of its own. The paths in the files are the live ones. Where a live file is a link, the staged one takes the link's place in
# the copy, and leaves alone what it leads to. Arguments: the stage; the main file; the directory; the files that go away.
set -eu
stage=$1 main=$2 dir=$3; shift 3
merged=$(mktemp -d)
trap 'umount -l "$merged" && rmdir "$merged"' EXIT
mount -t tmpfs -o mode=0755 tmpfs "$merged"
mkdir "$merged/dir"
if [ -d "$dir" ]; then cp -a "$dir/." "$merged/dir"; else mkdir -p "$dir"; fi
for gone; do rm -f "$merged/dir${gone#"$dir"}"; done
if [ -d "$stage$dir" ]; then cp -a --remove-destination "$stage$dir/." "$merged/dir"; fi
mount --bind "$merged/dir" "$dir"
case $main in "$dir"/*) ;; *) mount --bind "$stage$main" "$main" ;; esac
named-checkconf -z "$main"
