# shellcheck shell=sh
# Prints every regular file that matches one of its arguments, which are patterns, links followed: after the line "tar" as a tar archive
# or, where there is no tar (Fedora's smallest images), after the line "lines" as two lines of base64 each, "path mode owner:number
# group:number" and the content; the name of an account that has none is UNKNOWN. An empty IFS keeps a pattern with a space in it whole. A
# file that two patterns match, or that has two names, comes whole each time: tar would write the second one as an empty link to the first.
set -u
IFS=
each() {
  for glob in "$@"; do
    for file in $glob; do
      if [ -f "$file" ]; then printf '%s\0' "$file"; fi
    done
  done
}
if command -v tar >/dev/null 2>&1; then
  echo tar
  each "$@" | tar --format=gnu --hard-dereference -cPhf - --null --no-recursion --verbatim-files-from -T -
else
  echo lines
  each "$@" | xargs -0 -r sh -c 'set -e
    for file; do
      printf "%s\n" "$file" | base64 -w 0
      stat -L -c " %a %U:%u %G:%g" -- "$file"
      base64 -w 0 -- "$file"
      echo
    done' sh
fi
