# shellcheck shell=sh
# Installs packages by apt. Its output goes to a file, so that it outlives the connection that began it: nothing it writes can fail because
# nobody listens any more. dpkg may have been interrupted before, and others may hold the locks: DPkg::Lock::Timeout waits for dpkg's, but
# not for the one of the package lists. Arguments: the file; which packages may go for it, with blanks between them; the packages. Where
# others would have to go nothing is installed, and where it fails otherwise the end of the file goes to standard error.
log=$1 replaced=$2
shift 2
export DEBIAN_FRONTEND=noninteractive
busy() {
  # shellcheck disable=SC2013 # words are what is compared
  for comm in $(cat /proc/[0-9]*/comm 2>/dev/null); do
    case $comm in apt | apt-get | aptitude | dpkg | unattended-upgr | packagekitd) return 0 ;; esac
  done
  return 1
}
{
  date
  tries=0
  until dpkg --configure -a; do
    busy || break
    [ "$((tries += 1))" -le 100 ] || break
    sleep 3
  done
  until apt-get -q update; do
    busy || break
    [ "$((tries += 1))" -le 100 ] || break
    sleep 3
  done
} >"$log" 2>&1 </dev/null
keep=--no-remove
for name in $(apt-get -qq -s --no-install-recommends install -- "$@" 2>/dev/null | sed -n 's/^\(Remv\|Purg\) \([^ ]*\).*/\2/p'); do
  case " $replaced " in
  *" $name "*) keep= ;;
  *) others="${others:-} $name" ;;
  esac
done
[ -z "${others:-}" ] || { echo "it would remove$others, so nothing was installed: see whether the machine needs that, and remove it by hand first" >&2; exit 1; }
{
  # shellcheck disable=SC2086 # it may be none
  apt-get -q -y $keep --no-install-recommends -o DPkg::Lock::Timeout=600 \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold install -- "$@"
} >>"$log" 2>&1 </dev/null && exit 0
tail -n 30 -- "$log" >&2
exit 1
