# shellcheck shell=sh
# Makes the databases of OVN on a machine members of clusters, and lone ones again. Addresses are as clusters have them, without a port: ssl:10.0.0.1.
# The first argument says what:
#   look                prints a line for each database that is stored: its name, "standalone" or "clustered" with the cluster's id, which is "-" where
#                       it is not known yet, or "joining" where the provider has it join one, and "used" where one that stands alone holds something; and for each server that a running one has in
#                       its cluster "peer", the name and the server's address
#   form SELF           has both databases begin a cluster with what they hold, and starts them anew where what they are started by has changed
#   join SELF PEER…     has both databases join the cluster of the peers: what they held alone is removed where it was made by the provider, and laid aside otherwise
#   rejoin SELF PEER…   is join, and what they were members by before is removed: a server that left a cluster has to come as another one
#   northd              starts ovn-northd anew where what it is started by has changed
#   kick PEER           has both clusters go on without a server, be it gone
#   disband             has both databases, which are the last ones of their clusters, stand alone with what they hold
#   leave               removes what a server had of its cluster, which it has left, and puts back what was laid aside; the databases are stopped
#   resume              starts the databases again where the package's unit of all of them is active
set -eu
databases=/var/lib/ovn
keys=/var/lib/virtcluster/ovn
run=/run/ovn
units=/etc/systemd/system
turns=/run/lock/virtcluster-ovn
what=$1
shift
# One that a provider began and was killed in goes on, and comes to its end first.
[ "$what" = look ] || { exec 9>"$turns" && flock 9; }

name_of() { case $1 in nb) echo OVN_Northbound ;; sb) echo OVN_Southbound ;; esac; }
port_of() { case $1 in nb) echo 6643 ;; sb) echo 6644 ;; esac; }
file_of() { echo "$databases/ovn${1}_db.db"; }
is_alone() { [ ! -e "$(file_of "$1")" ] || ovsdb-tool db-is-standalone "$(file_of "$1")"; }
is_running() { systemctl is-active --quiet "ovn-ovsdb-server-$1.service"; }
status_of() { ovn-appctl -T 5 -t "$run/ovn${1}_db.ctl" cluster/status "$(name_of "$1")"; }

# A pid file is as old as its process: what is newer than that has not been read.
is_stale() { [ -n "$(find "$units/$1.service.d/virtcluster.conf" -newer "$2" 2>/dev/null)" ]; }

start() { # nb or sb: started anew where it has to be, and waited for
  unit=ovn-ovsdb-server-$1.service
  if ! is_running "$1" || is_stale "ovn-ovsdb-server-$1" "$run/ovn${1}_db.pid"; then
    systemctl restart "$unit"
  fi
  tries=0
  until [ -S "$run/ovn${1}_db.sock" ] && ovsdb-client -t 30 wait "unix:$run/ovn${1}_db.sock" "$(name_of "$1")" connected 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "$(name_of "$1") is no member of its cluster; the last words of its log:" >&2 && tail -n 5 "/var/log/ovn/ovsdb-server-$1.log" >&2 && exit 1; }
    sleep 0.2
  done
}

replace() { # a file by another one, with the locks that ovsdb-tool has left of it
  mv -- "$2" "$1"
  rm -f "${2%/*}/.${2##*/}"*.~lock~
}

questions='["OVN_Northbound",{"op":"select","table":"Logical_Switch","where":[],"columns":["name"]},{"op":"select","table":"Logical_Router","where":[],"columns":["name"]},{"op":"select","table":"NB_Global","where":[["external_ids","!=",["map",[]]]],"columns":["external_ids"]}]'
holds_rows() { # nb or sb, which stands alone: whether somebody has something in it, or it does not say
  asked=$questions
  [ "$1" = nb ] || asked='["OVN_Southbound",{"op":"select","table":"Chassis","where":[],"columns":["name"]}]'
  if is_running "$1"; then
    answer=$(ovsdb-client -t 10 transact "unix:$run/ovn${1}_db.sock" "$asked") || return 0
  else
    answer=$(ovsdb-tool query "$(file_of "$1")" "$asked") || return 0
  fi
  case $answer in *'"rows":[{'*) return 0 ;; esac
  return 1
}

case $what in
look)
  for db in nb sb; do
    [ -e "$(file_of "$db")" ] || continue
    if is_alone "$db"; then
      if holds_rows "$db"; then used=used; else used=; fi
      echo "$(name_of "$db") standalone $used"
      continue
    fi
    if ! cluster=$(ovsdb-tool db-cid "$(file_of "$db")" 2>/dev/null); then
      cluster=-
      [ ! -e "$units/ovn-ovsdb-server-$db.service.d/virtcluster.conf" ] || cluster=joining
    fi
    echo "$(name_of "$db") clustered $cluster"
    ! status=$(status_of "$db" 2>/dev/null) || echo "$status" | awk -v name="$(name_of "$db")" '
      $0 == "Status: cluster member" { member = 1 }
      member && / \(.* at [a-z]*:.*\)/ { sub(/^.* at /, ""); sub(/\).*/, ""); sub(/:[0-9]*$/, ""); print name, "peer", $0 }'
  done
  ;;
form)
  systemctl daemon-reload
  for db in nb sb; do
    file=$(file_of "$db")
    if is_alone "$db"; then
      systemctl stop "ovn-ovsdb-server-$db.service"
      rm -f "$file.cluster"
      ovsdb-tool create-cluster "$file.cluster" "$file" "$1:$(port_of "$db")"
      replace "$file" "$file.cluster"
    fi
    start "$db"
  done
  ;;
join | rejoin)
  self=$1
  shift
  systemctl daemon-reload
  systemctl stop ovn-northd.service
  for db in nb sb; do
    file=$(file_of "$db")
    if [ "$what" = rejoin ] && ! is_alone "$db"; then
      systemctl stop "ovn-ovsdb-server-$db.service"
      rm -f "$file"
    fi
    if is_alone "$db"; then
      systemctl stop "ovn-ovsdb-server-$db.service"
      if [ -e "$keys/made" ]; then
        rm -f "$file"
      elif [ -e "$file" ]; then
        mkdir -p "$keys/before"
        mv "$file" "$keys/before/"
      fi
      peers=
      for peer; do peers="$peers $peer:$(port_of "$db")"; done
      rm -f "$file.cluster"
      # shellcheck disable=SC2086 # words without blanks
      ovsdb-tool join-cluster "$file.cluster" "$(name_of "$db")" "$self:$(port_of "$db")" $peers
      replace "$file" "$file.cluster"
    fi
    start "$db"
  done
  ;;
northd)
  systemctl daemon-reload
  ! systemctl is-active --quiet ovn-northd.service || ! is_stale ovn-northd "$run/ovn-northd.pid" || systemctl restart ovn-northd.service
  systemctl start ovn-northd.service
  ;;
kick)
  for db in nb sb; do
    peer=$1:$(port_of "$db")
    tries=0
    while status_of "$db" | grep -qF " at $peer)"; do
      [ "$tries" -gt 0 ] || ovn-appctl -T 10 -t "$run/ovn${db}_db.ctl" cluster/kick "$(name_of "$db")" "$peer" >/dev/null
      tries=$((tries + 1))
      [ "$tries" -lt 150 ] || { echo "$(name_of "$db") does not let $peer go: $(status_of "$db")" >&2 && exit 1; }
      sleep 0.2
    done
  done
  ;;
disband)
  systemctl daemon-reload
  systemctl stop ovn-northd.service # which stops the databases too, as the package has it
  for db in nb sb; do
    file=$(file_of "$db")
    systemctl stop "ovn-ovsdb-server-$db.service"
    if ! is_alone "$db"; then
      rm -f "$file.alone"
      ovsdb-tool cluster-to-standalone "$file.alone" "$file"
      # A cluster's schema is another one in details: ovn-ctl would convert it, and leave a copy.
      [ ! -e "/usr/share/ovn/ovn-$db.ovsschema" ] || ovsdb-tool convert "$file.alone" "/usr/share/ovn/ovn-$db.ovsschema"
      replace "$file" "$file.alone"
    fi
    start "$db"
  done
  ! command -v nft >/dev/null 2>&1 || nft delete table inet virtcluster_ovn 2>/dev/null || :
  systemctl start ovn-northd.service
  ;;
leave)
  systemctl daemon-reload
  systemctl stop ovn-northd.service ovn-ovsdb-server-nb.service ovn-ovsdb-server-sb.service
  for db in nb sb; do
    file=$(file_of "$db")
    is_alone "$db" || rm -f "$file"
    [ ! -e "$keys/before/${file##*/}" ] || [ -e "$file" ] || mv "$keys/before/${file##*/}" "$file"
  done
  rmdir "$keys/before" 2>/dev/null || :
  ! command -v nft >/dev/null 2>&1 || nft delete table inet virtcluster_ovn 2>/dev/null || :
  ;;
resume)
  ! systemctl is-active --quiet ovn-central.service || systemctl start ovn-ovsdb-server-nb.service ovn-ovsdb-server-sb.service ovn-northd.service
  ;;
esac
