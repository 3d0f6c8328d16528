# shellcheck shell=sh
# Prints each of the files of its arguments that is there, behind a line "== PATH".
for path; do if [ -f "$path" ]; then echo "== $path"; cat "$path"; echo; fi; done
