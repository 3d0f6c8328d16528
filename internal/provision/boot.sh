# shellcheck shell=sh
# Waits for cloud-init and prints "waiting" where it is not done yet, "error" and why, or nothing. cloud-init leaves result.json when it is
# done; asking cloud-init itself each time would start Python each time, on a machine that is busy starting. One that is installed but takes
# no part in this boot never writes it: it counts only while the machine still starts. Arguments: how many seconds it waits; that file.
command -v cloud-init >/dev/null 2>&1 || exit 0
result=$2
for _ in $(seq "$1"); do
  if [ -e "$result" ]; then
    tr -d ' \n' <"$result" | grep -q '"errors":\[\]' && exit 0
    case $(cloud-init status 2>/dev/null) in *error*)
      echo error
      cloud-init status --long
    esac
    exit 0
  fi
  case $(systemctl is-system-running 2>/dev/null) in
  initializing | starting) ;;
  *) [ -e "$result" ] || exit 0 ;;
  esac
  sleep 1
done
echo waiting
