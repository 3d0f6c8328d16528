# shellcheck shell=sh
# Has firewalld and ufw, where one of them runs, let through what OVN needs on a machine, by rules of their own that are marked: those of firewalld have a
# priority that nobody else writes, and those of ufw a comment. Rules of others stay, and one of another's that lets the same through is enough.
# The first argument says what, and the others are the role, the address that is reached, and the rules: "udp 6081 172.16.0.12" lets through what comes
# from there, and "tcp 6642 any" what comes from anywhere.
#   put ROLE ADDRESS [RULE…]    has these rules of the role, and no others
#   shut ROLE ADDRESS [RULE…]   prints which program lacks a rule, and the rule, for each that is lacking
set -eu
what=$1 role=$2 address=$3
shift 3
mark=virtcluster-ovn-$role
case $role in chassis) priority=-6081 ;; *) priority=-6642 ;; esac

family_of() { case $1 in *:*) echo ipv6 ;; *) echo ipv4 ;; esac; }

# firewalld: a rule is a line as it prints it itself, behind the zone.
format_rich() { # PROTOCOL PORT SOURCE
  source=
  [ "$3" = any ] || source="family=\"$(family_of "$3")\" source address=\"$3\" "
  echo "rule priority=\"$priority\" ${source}port port=\"$2\" protocol=\"$1\" accept"
}
list_rich() { # the marked rules, at once or for good: "ZONE RULE" each
  "$@" --list-all-zones | awk -v mark="rule priority=\"$priority\"" '/^[^ \t]/ { zone = $1 } index($0, mark) { sub(/^[ \t]*/, ""); print zone, $0 }'
}
zone_of_address() {
  device=$(ip -o addr show | awk -v a="$address" '{ split($4, p, "/"); if (p[1] == a) { print $2; exit } }')
  { [ -n "$device" ] && firewall-cmd --get-zone-of-interface="$device" 2>/dev/null; } || firewall-cmd --get-default-zone
}
put_rich() { # a command that changes rules, with its options
  has=$(list_rich "$@")
  echo "$has" | while read -r zone rule; do
    [ -z "$zone" ] || echo "$wanted" | grep -qxF "$zone $rule" || "$@" --zone="$zone" --remove-rich-rule="$rule" >/dev/null
  done
  echo "$wanted" | while read -r zone rule; do
    [ -z "$zone" ] || echo "$has" | grep -qxF "$zone $rule" || "$@" --zone="$zone" --add-rich-rule="$rule" >/dev/null
  done
}

# ufw: a rule is a line as it prints it itself.
format_ufw() { # PROTOCOL PORT SOURCE
  if [ "$3" = any ]; then echo "ufw allow $2/$1"; else echo "ufw allow from $3 to any port $2 proto $1"; fi
}
list_ufw() { ufw show added | grep '^ufw ' || :; }
put_ufw() {
  has=$(list_ufw)
  echo "$has" | sed -n "s/ comment '$mark'\$//p" | while read -r _ rule; do
    # shellcheck disable=SC2086 # the words of a command
    echo "$wanted" | grep -qxF "ufw $rule" || ufw --force delete $rule >/dev/null
  done
  echo "$wanted" | while read -r _ rule; do
    # A rule of somebody else's would be taken over: it gets the comment.
    [ -z "$rule" ] || echo "$has" | sed "s/ comment '.*'\$//" | grep -qxF "ufw $rule" && continue
    # shellcheck disable=SC2086 # the words of a command
    ufw $rule comment "$mark" >/dev/null
  done
}

firewalld=none ufw=none
if command -v firewall-cmd >/dev/null 2>&1; then
  if firewall-cmd --quiet --state 2>/dev/null; then firewalld=runs; else firewalld=stopped; fi
fi
if command -v ufw >/dev/null 2>&1; then
  if ufw status | grep -q '^Status: active'; then ufw=runs; else ufw=stopped; fi
fi
wanted_by() { # a formatter: the rules that are wanted, in its words
  format=$1
  shift
  # shellcheck disable=SC2086 # the words of a rule
  for rule; do $format $rule; done
}
case $what-$firewalld in
put-runs)
  zone=$(zone_of_address)
  wanted=$(wanted_by format_rich "$@" | sed "s/^/$zone /")
  put_rich firewall-cmd
  put_rich firewall-cmd --permanent
  ;;
put-stopped)
  wanted=
  ! command -v firewall-offline-cmd >/dev/null 2>&1 || put_rich firewall-offline-cmd
  ;;
shut-runs)
  zone=$(zone_of_address)
  has=$(list_rich firewall-cmd)
  wanted_by format_rich "$@" | while read -r rule; do
    echo "$has" | grep -qxF "$zone $rule" || echo "firewalld $rule"
  done
  ;;
esac
case $what-$ufw in
put-runs)
  wanted=$(wanted_by format_ufw "$@")
  put_ufw
  ;;
put-stopped)
  wanted=
  put_ufw
  ;;
shut-runs)
  has=$(list_ufw | sed "s/ comment '.*'\$//")
  wanted_by format_ufw "$@" | while read -r rule; do
    echo "$has" | grep -qxF "$rule" || echo "$rule"
  done
  ;;
esac
