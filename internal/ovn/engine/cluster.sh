# shellcheck shell=sh
# Makes the databases of OVN on a machine members of clusters, and lone ones again. Addresses are as clusters have them, without a port: ssl:10.0.0.1.
# The first argument says what:
#   look                prints a line for each database that is stored: its name, "standalone" or "clustered" with the cluster's id, which is "-" where
#                       it is not known yet, or "joining" where the provider has it join one, and "used" where one that stands alone holds something; for each server that a running one has in
#                       its cluster the name, "peer" and the server's address; and the name and "leads" where it leads the cluster
#   form SELF           has both databases begin a cluster with what they hold, and starts them anew where what they are started by has changed
#   join SELF PEER…     has both databases join the cluster of the peers: what they held alone is removed where it was made by the provider, and laid aside otherwise
#   rejoin SELF PEER…   is join, and what they were members by before is removed: a server that left a cluster has to come as another one
#   await ADDRESS…      waits until both servers are members of clusters of these servers and no others, and know who leads
#   northd              starts ovn-northd anew where what it is started by has changed
#   kick PEER           has both clusters go on without a server, be it gone, and waits until another one leads them
#   disband             has both databases, which are the last ones of their clusters, stand alone with what they hold
#   leave               removes what a server had of its cluster, which it has left, and puts back what was laid aside; the databases are stopped
#   resume              starts the databases again where the package's unit of all of them is active
set -eu
databases=/var/lib/ovn
keys=/var/lib/virtcluster/ovn
run=/run/ovn
units=/etc/systemd/system
turns=/run/lock/virtcluster-ovn
# How long a member hears nothing of the leader until it stands for election, in ms. By default it is a second, in which a busy machine may not come to answer.
election=5000
what=$1
shift
# How long a server may take to be a member of its cluster, to know the others, or to let one go, in s. It takes two at most where the machine is not busy.
limit=120
# One that a provider began and was killed in goes on, and comes to its end first. Who looks waits for that too, but not for ever: in the middle of a change
# a file is missing, or does not answer.
if [ "$what" != look ]; then
  exec 9>"$turns"
  flock 9
elif [ -e "$turns" ]; then
  exec 9<"$turns"
  flock -s -w 300 9 || :
fi

name_of() { case $1 in nb) echo OVN_Northbound ;; sb) echo OVN_Southbound ;; esac; }
port_of() { case $1 in nb) echo 6643 ;; sb) echo 6644 ;; esac; }
file_of() { echo "$databases/ovn${1}_db.db"; }
begin_wait() { end=$(($(date +%s) + $1)); } # SECONDS
is_over() { [ "$(date +%s)" -ge "$end" ]; }
is_alone() { # nb or sb: whether it stands alone, or is not there. A file that a server is just making is of no kind yet.
  looks=0
  while [ -e "$(file_of "$1")" ]; do
    kind=0
    ovsdb-tool db-is-standalone "$(file_of "$1")" 2>/dev/null || kind=$?
    case $kind in 0) return 0 ;; 2) return 1 ;; esac
    looks=$((looks + 1))
    [ "$looks" -lt 50 ] || { echo "$(file_of "$1") is no database: $(ovsdb-tool db-is-standalone "$(file_of "$1")" 2>&1)" >&2 && exit 1; }
    sleep 0.2
  done
}
is_running() { systemctl is-active --quiet "ovn-ovsdb-server-$1.service"; }
status_of() { ovn-appctl -T 20 -t "$run/ovn${1}_db.ctl" cluster/status "$(name_of "$1")"; }

list_peers() { # the addresses of the servers in a status: none where it is not that of a member
  awk '$0 == "Status: cluster member" { member = 1 }
    member && / \(.* at [a-z]*:.*\)/ { sub(/^.* at /, ""); sub(/\).*/, ""); sub(/:[0-9]*$/, ""); print }'
}

knows_leader() { # in a status: whether one of the servers leads. One that has left is named until another one has been elected.
  awk '$1 == "Leader:" { leader = $2 }
    / \(.* at [a-z]*:.*\)/ && (leader == "self" || $1 == leader) { found = 1 }
    END { exit !found }'
}

# A pid file is as old as its process: what is newer than that has not been read.
is_stale() { [ -n "$(find "$units/$1.service.d/virtcluster.conf" -newer "$2" 2>/dev/null)" ]; }

start() { # nb or sb: started anew where it has to be, and waited for
  unit=ovn-ovsdb-server-$1.service
  if ! is_running "$1" || is_stale "ovn-ovsdb-server-$1" "$run/ovn${1}_db.pid"; then
    systemctl restart "$unit"
  fi
  begin_wait "$limit"
  until [ -S "$run/ovn${1}_db.sock" ] && ovsdb-client -t 30 wait "unix:$run/ovn${1}_db.sock" "$(name_of "$1")" connected 2>/dev/null; do
    ! is_over || { echo "$(name_of "$1") is no member of its cluster; the last words of its log:" >&2 && tail -n 5 "/var/log/ovn/ovsdb-server-$1.log" >&2 && exit 1; }
    sleep 0.2
  done
}

replace() { # a file by another one, with the locks that ovsdb-tool has left of it
  mv -- "$2" "$1"
  rm -f "${2%/*}/.${2##*/}"*.~lock~
}

# The tables in which somebody may have something: of the northbound database all whose rows are there by themselves (isRoot in its schema, of which the
# provider reads it where it can). NB_Global has one row always, which is somebody's with external_ids.
tables_of() {
  case $1 in
  nb) echo NB_Global Logical_Switch Logical_Router Port_Group Address_Set Load_Balancer Load_Balancer_Group DHCP_Options DNS HA_Chassis_Group BFD Static_MAC_Binding Meter Copp Mirror Chassis_Template_Var ;;
  sb) echo Chassis ;;
  esac
}
ask() { # nb or sb, and a question: of its server, which answers a moment after its unit has begun, or of its file
  if is_running "$1"; then
    ovsdb-client -t 10 transact "unix:$run/ovn${1}_db.sock" "$2"
  else
    ovsdb-tool query "$(file_of "$1")" "$2"
  fi
}
holds_rows() { # nb or sb, which stands alone: whether somebody has something in it, or it does not say
  begin_wait 20
  for table in $(tables_of "$1"); do # each by a question of its own: a release of OVN that does not know one answers to nothing beside it
    meant=
    [ "$table" != NB_Global ] || meant='["external_ids","!=",["map",[]]]'
    asked="[\"$(name_of "$1")\",{\"op\":\"select\",\"table\":\"$table\",\"where\":[$meant],\"columns\":[\"_uuid\"]}]"
    until answer=$(ask "$1" "$asked" 2>/dev/null); do
      ! is_over || return 0
      sleep 0.2
    done
    case $answer in *'"rows":[{'*) return 0 ;; esac
  done
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
    status=$(status_of "$db" 2>/dev/null) || continue
    echo "$status" | list_peers | sed "s/^/$(name_of "$db") peer /"
    ! echo "$status" | grep -q '^Role: leader' || echo "$(name_of "$db") leads"
  done
  ;;
form)
  systemctl daemon-reload
  for db in nb sb; do
    file=$(file_of "$db")
    if is_alone "$db"; then
      systemctl stop "ovn-ovsdb-server-$db.service"
      rm -f "$file.cluster"
      ovsdb-tool --election-timer="$election" create-cluster "$file.cluster" "$file" "$1:$(port_of "$db")"
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
await)
  want=$(printf '%s\n' "$@" | sort)
  for db in nb sb; do
    begin_wait "$limit"
    until status=$(status_of "$db" 2>&1) && [ "$(echo "$status" | list_peers | sort)" = "$want" ] && echo "$status" | knows_leader; do
      ! is_over || { echo "$(name_of "$db") is not in the cluster of $*: $status" >&2 && exit 1; }
      sleep 0.2
    done
  done
  ;;
northd)
  systemctl daemon-reload
  ! systemctl is-active --quiet ovn-northd.service || ! is_stale ovn-northd "$run/ovn-northd.pid" || systemctl restart ovn-northd.service
  systemctl start ovn-northd.service
  ;;
kick)
  for db in nb sb; do
    ! is_alone "$db" || continue
    peer=$1:$(port_of "$db")
    begin_wait "$limit"
    tries=0
    asked=
    # A server that does not answer has let nobody go, and who asks next needs one that leads, which may have been the one that went.
    until status=$(status_of "$db" 2>&1) && ! echo "$status" | grep -qF " at $peer)" && echo "$status" | knows_leader; do
      # Nobody takes the request while nobody leads, and who took it may have led no more: after ten seconds somebody else is asked.
      [ "$((tries % 50))" -gt 0 ] || asked=
      [ -n "$asked" ] || ! said=$(ovn-appctl -T 10 -t "$run/ovn${db}_db.ctl" cluster/kick "$(name_of "$db")" "$peer" 2>&1) || asked=yes
      tries=$((tries + 1))
      ! is_over || { echo "$(name_of "$db") does not let $peer go: $said: $status" >&2 && exit 1; }
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
