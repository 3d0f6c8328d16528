# shellcheck shell=sh
# Begins scripts that lock: makes the directory $1 for locks, or ends the script with the reason why it cannot be trusted. What is made in it
# from then on is root's alone too.
umask 077
[ -d "$1" ] || mkdir -- "$1" 2>/dev/null # two may make it at once
if [ -L "$1" ] || [ ! -d "$1" ]; then echo "$1 is no directory, but it must be one, and root's alone: remove it" >&2; exit 1; fi
mode=$(stat -c %a -- "$1") || exit 1
case $mode in
700) ;;
*[2367][0-7] | *[2367]) echo "$1 can be written by others (mode $mode), but it must be root's alone: remove it" >&2; exit 1 ;;
*) chmod 0700 -- "$1" || exit 1 ;;
esac
[ -O "$1" ] || { echo "$1 is not root's, but it must be root's alone: remove it" >&2; exit 1; }
