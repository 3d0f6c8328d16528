# shellcheck shell=sh
# Removes what was tried. Arguments: its directory; the one that has it and those of other plans. Of these go what is older than an hour,
# which a plan that was killed left behind: no checker takes as long.
rm -rf -- "$1"
find "$2" -mindepth 1 -maxdepth 1 -mmin +60 -exec rm -rf -- {} + 2>/dev/null
rmdir -- "$2" 2>/dev/null || :
