# shellcheck shell=sh
# Runs named-checkconf over a copy of the configuration directory with the staged files in it, mounted over the live one: it has to have a
# mount namespace of its own. The paths in the files are the live ones. Where a live file is a link, the staged one takes the link's place in
# the copy, and leaves alone what it leads to. Of the provider's own files the copy has those that are staged. Arguments: the stage; the main
# file; the directory.
set -eu
stage=$1 main=$2 dir=$3
merged=$(mktemp -d)
trap 'umount -l "$merged" && rmdir "$merged"' EXIT
mount -t tmpfs -o mode=0755 tmpfs "$merged"
mkdir "$merged/dir"
if [ -d "$dir" ]; then cp -a "$dir/." "$merged/dir"; else mkdir -p "$dir"; fi
rm -rf "$merged/dir/virtcluster/zones" "$merged/dir/${main##*/}.virtcluster-"*
if [ -d "$stage$dir" ]; then cp -a --remove-destination "$stage$dir/." "$merged/dir"; fi
mount --bind "$merged/dir" "$dir"
case $main in "$dir"/*) ;; *) mount --bind "$stage$main" "$main" ;; esac
named-checkconf -z "$main"
