# shellcheck shell=bash disable=SC2154
# Sourced by stages: what is asked of the cluster, by the programs that its people would use.

api=10.19.41.160 ingress=10.19.41.161 vip=10.50.0.10
declare -A ip=([master-1]=10.50.0.21 [master-2]=10.50.0.22 [master-3]=10.50.0.23 [worker-1]=10.50.0.31 [worker-2]=10.50.0.32)

on() { "$repository/test/sandbox/on" "$@"; }
lan() { on lan-client "$@"; }
fetch() { lan curl -sS --max-time 20 "$@"; }

# where MACHINE   is the hypervisor that it is on now, as the configuration says.
where() { jq -r --arg name "$1" '(.machines + .service_nodes)[$name].hypervisor | sub("hv"; "hv-")' terraform.tfvars.json; }
virsh_of() { # MACHINE COMMAND…
	local machine=$1
	shift
	on "$(where "$machine")" virsh --quiet "$@"
}

# in_guest runs a shell script in a guest by its agent, as a program of the guest would run; commands are BusyBox's.
in_guest() { # MACHINE SCRIPT
	local pid said deadline=$((SECONDS + 60))
	pid=$(agent "$1" "$(jq -cn --arg script "$2" '{execute: "guest-exec", arguments: {path: "/bin/sh", arg: ["-c", $script], "capture-output": true}}')" | jq .return.pid) || return
	while ((SECONDS < deadline)); do
		said=$(agent "$1" "{\"execute\": \"guest-exec-status\", \"arguments\": {\"pid\": $pid}}") || return
		[[ $(jq .return.exited <<<"$said") != true ]] || break
		sleep 0.2
	done
	jq -r '.return["out-data", "err-data"] // "" | @base64d' <<<"$said"
	[[ $(jq .return.exitcode <<<"$said") == 0 ]]
}
agent() { virsh_of "$1" qemu-agent-command "$1" "$2"; }

# From one guest to another: by ping, and by HTTP at 6443, which says who answered.
ping_from() { in_guest "$1" "/bin/busybox ping -c 3 -W 2 $2" | grep -o '[0-9]* packets received'; }
fetch_from() { in_guest "$1" "printf 'GET /readyz HTTP/1.0\r\n\r\n' | /bin/busybox nc -w 20 $2 6443" | sed -n '/./p' | tail -n 1; }

on_service() { # NUMBER COMMAND…
	local address=10.19.41.17$1
	shift
	ssh -n -i "$SANDBOX_SSH_KEY" -o BatchMode=yes -o ConnectTimeout=30 "root@$address" "$@"
}
holder() {
	local n
	for n in 1 2; do
		on_service "$n" ip -o -4 address show 2>/dev/null | grep -F " $vip/" >/dev/null && echo "service-$n"
	done
	return 0
}
one_holder() { [[ $(holder | wc -l) == 1 ]]; }

# answered_by ADDRESS-AND-PORT NAME…   succeeds when each of the machines has answered there.
answered_by() {
	local at=$1 name seen='' try
	shift
	for ((try = 0; try < 30; try++)); do seen+=" $(fetch "http://$at/" 2>/dev/null)"; done
	for name; do [[ " $seen " == *" $name "* ]] || { echo "$at was answered by $(tr ' ' '\n' <<<"$seen" | sort | uniq -c | tr -s ' \n' ' ')"; return 1; }; done
	echo "$*"
}

wait_for_all() {
	local name
	for name in "${!ip[@]}"; do until_done in_guest "$name" true >/dev/null || return; done
	until_done fetch -o /dev/null "http://$api:6443/"
	until_done one_holder
	until_done answered_by "$api:6443" master-1 master-2 master-3
}

check_all() {
	local name
	check hv-1 "its machines" "master-1 master-2 service-1 worker-1" names_on hv-1
	check hv-2 "its machines" "master-3 service-2 worker-2" names_on hv-2
	check hv-1 "chassis in the databases" 3 chassis
	for name in master-3 worker-2; do check master-1 "ping to $name on the other hypervisor" "3 packets received" ping_from master-1 "${ip[$name]}"; done
	check master-3 "ping to master-1 on the other hypervisor" "3 packets received" ping_from master-3 "${ip[master-1]}"
	check master-1 "HTTP to master-3 on the other hypervisor" master-3 fetch_from master-1 "${ip[master-3]}"
	check worker-2 "HTTP to master-2 on the other hypervisor" master-2 fetch_from worker-2 "${ip[master-2]}"
	check worker-2 "the API at $vip" 'master-?' fetch_from worker-2 "$vip"
	check worker-2 "the LAN, translated" "3 packets received" ping_from worker-2 10.19.41.50
	check LAN "the API at $api, by every master" "master-1 master-2 master-3" answered_by "$api:6443" master-1 master-2 master-3
	check LAN "ingress at $ingress, by both workers" "worker-1 worker-2" answered_by "$ingress:80" worker-1 worker-2
	for name in 1 2; do check LAN "service-$name at its floating address 10.19.41.17$name" "service-$name" on_service "$name" hostname; done
	check LAN "a machine without one is not reached" '' reached_by_lan "${ip[worker-1]}"
	check LAN "one holder of $vip" 'service-?' holder
}

names_on() { on "$1" virsh --quiet list --name | sort | xargs; }
chassis() { on hv-1 ovn-sbctl --timeout=10 --bare --columns=name list Chassis | grep -c .; }
reached_by_lan() { lan ping -q -c 1 -W 2 "$1" | grep -o ' 1 received' || true; }

# inventory is everything that the example could leave behind on a machine.
inventory() {
	on "$1" sh -c 'for unit in openvswitch-switch ovs-vswitchd ovn-central ovn-northd ovn-ovsdb-server-nb ovn-host ovn-controller; do
  echo "$unit $(systemctl is-enabled $unit 2>&1) $(systemctl is-active $unit)"
done
virsh --quiet list --all --name; virsh --quiet pool-list --all --name; virsh --quiet net-list --all --name; ls -A /var/lib/libvirt/images
ovs-vsctl list-br; ovs-vsctl list-ports br-ex; ls -A /var/lib/ovn /var/lib/virtcluster /var/lib/libvirt/cluster 2>/dev/null
ip -o -4 address | awk "{ print \$2, \$4 }" | sort; ip -o link | sed "s/^[0-9]*: \([^:@]*\).*/\1/" | sort'
}
compare_inventory() { diff <(echo "$before") <(inventory hv-1; inventory hv-3); }
check_leftovers() { check machines "everything is as it was before" '' until_done compare_inventory; }
