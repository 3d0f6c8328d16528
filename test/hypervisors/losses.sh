# shellcheck shell=bash disable=SC2154
# Sourced by stages: machines, programs and guests go away one after the other, and what the others notice is measured.

# watch LOG ADDRESS   has the LAN ask an address ten times a second, by ping, until watched is called. It is ping itself that is ended then: a function
# in the background is a shell of its own.
watch() {
	"$repository/test/sandbox/on" lan-client ping -n -D -i 0.1 -W 1 "$2" >"$1" 2>&1 &
	watching=$!
	sleep 2
}

# watched LOG   ends it, and prints the longest time that passed between two answers: for so long the address was nobody's.
watched() {
	kill -INT "$watching"
	wait "$watching" || true
	awk -F '[][ ]' '/icmp_seq=/ && /time=/ { if (last && $2 - last > longest) longest = $2 - last; last = $2; all++ }
		END { if (all < 20) print "only " all + 0 " answers"; else printf "%.1f s\n", longest }' "$1"
}

# at_most SECONDS TEXT   succeeds where a text such as "1.5 s" says no more than that.
at_most() { awk -v limit="$1" '$2 != "s" || $1 > limit { exit 1 }' <<<"$2"; }

# silence WHERE WHAT LIMIT TEXT   is the row of a silence that was measured, which may last so many seconds.
silence() {
	if at_most "$3" "$4"; then check "$1" "$2" "$4" echo "$4"; else check "$1" "$2" "$3 s at most" echo "$4"; fi
}

# A backend that is there and says nothing: what was sent to it is lost, until it has failed two questions, a second apart, that wait for a second.
lose_worker() {
	local log=$work/client.log since
	since=$(date +%s%3N)
	client "$log" --max-time 2 "http://$ingress:80/"
	until_done goes_on "$log" "$since"
	virsh_of worker-2 suspend worker-2
	since=$(date +%s%3N)
	until_done only_answer worker-1
	end_client "$log"
	check LAN "ingress: failed while worker-2 stood still" '*of*failed*' failures "$log"
	silence LAN "ingress: over a time of" 8 "$(failed_for "$log")"
	check LAN "ingress is answered by worker-1 alone" "worker-1" only_answer worker-1
	virsh_of worker-2 resume worker-2
	check LAN "ingress is answered by both again" "worker-1 worker-2" until_done answered_by "$ingress:80" worker-1 worker-2
}
only_answer() {
	local try
	for ((try = 0; try < 20; try++)); do [[ $(fetch --max-time 2 "http://$ingress:80/" 2>/dev/null) == "$1" ]] || return; done
	echo "$1"
}
failed_for() { sort -n "$1" | awk '$2 != 0 { last = $1; if (!first) first = $1 } END { printf "%.1f s\n", (last - first) / 1000 }'; }

# The machine that holds the address stands still; the other one is on the other hypervisor.
lose_holder() {
	local old new
	old=$(holder)
	new=service-$((3 - ${old#service-}))
	check LAN "$old on $(where "$old") holds $vip, and $new is on" "hv-?" where "$new"
	watch "$work/pings" "$api"
	virsh_of "$old" suspend "$old"
	until_done holds "$new"
	sleep 5
	silence LAN "$api was nobody's, of four advertisements of $advert s" $((4 * advert)) "$(watched "$work/pings")"
	check LAN "the API is answered" 'master-?' fetch "http://$api:6443/"
	virsh_of "$old" resume "$old"
	until_done one_holder
	check plan "nothing to mend" 0 plan_status
}
holds() { on_service "${1#service-}" ip -o -4 address show | grep -F " $vip/" >/dev/null; }
plan_status() {
	local status=0
	"$terraform" plan -no-color -detailed-exitcode -parallelism=32 >"$work/plan.log" 2>&1 || status=$?
	echo "$status"
	((status == 0)) || grep -aE -A 5 'will be|must be|Error: ' "$work/plan.log" | head -n 40
}

# Databases and northd are killed, and stay away for a while. What is there goes on without them.
central=(ovn-ovsdb-server-nb ovn-ovsdb-server-sb ovn-northd)
lose_central() {
	on hv-1 systemctl kill --signal=SIGKILL "${central[@]}"
	on hv-1 systemctl stop ovn-central "${central[@]}"
	check hv-1 "no database answers" '*onnection*' on hv-1 ovn-nbctl --timeout=2 --db=unix:/run/ovn/ovnnb_db.sock show
	watch "$work/pings" 10.19.41.172
	check master-1 "ping to master-3 on the other hypervisor" "3 packets received" ping_from master-1 "${ip[master-3]}"
	check master-3 "HTTP to master-1 on the other hypervisor" master-1 fetch_from master-3 "${ip[master-1]}"
	check LAN "the API, by every master" "master-1 master-2 master-3" answered_by "$api:6443" master-1 master-2 master-3
	check LAN "ingress, by both workers" "worker-1 worker-2" answered_by "$ingress:80" worker-1 worker-2
	silence LAN "longest silence of a floating address meanwhile" 1 "$(watched "$work/pings")"
	apply
	check hv-1 "an apply starts them" 'active active active' central_states
	check plan "nothing to mend" 0 plan_status
}

central_states() { on hv-1 systemctl is-active "${central[@]}" | xargs; }

# switch_off MACHINE takes its power away: every process of it is killed. switch_on gives it back.
switch_off() { kill -KILL "$(cat "$SANDBOX_STATE/nodes/$1/pid")"; }
switch_on() {
	touch "$SANDBOX_STATE/nodes/$1/on"
	until_done on "$1" systemctl is-active --quiet multi-user.target
}

leads() { # CHASSIS: its machine's name
	[[ $(on hv-1 ovn-sbctl --timeout=10 --bare --columns=hostname list Chassis "$(on hv-1 ovn-sbctl --timeout=10 --bare --columns=chassis find Port_Binding type=chassisredirect)") == "$1" ]]
}

# The first of three that lead out is gone: the next one takes over, and gives back.
lose_gateway() {
	until_done leads hv-3
	watch "$work/pings" 10.19.41.171
	switch_off hv-3
	until_done leads hv-1
	sleep 5
	silence LAN "nobody led out after hv-3 was switched off for" 8 "$(watched "$work/pings")"
	check LAN "the API is answered" 'master-?' fetch "http://$api:6443/"
	watch "$work/pings" 10.19.41.171
	switch_on hv-3
	until_done leads hv-3
	sleep 10
	silence LAN "nobody led out when hv-3 was back for" 10 "$(watched "$work/pings")"
	check plan "nothing to mend" 0 plan_status
}

# Half of everything is gone at once. What is on the other hypervisor goes on.
lose_hypervisor() {
	watch "$work/pings" "$api"
	switch_off hv-2
	sleep $((5 * advert))
	silence LAN "$api was nobody's after hv-2 was switched off for" $((4 * advert)) "$(watched "$work/pings")"
	check LAN "the API is answered by masters of hv-1" "master-1 master-2" until_done answered_by "$api:6443" master-1 master-2
	# Whether a guest lives its own chassis asks: who is gone with that one is led to on and on, until an apply says where it is now.
	check LAN "ingress is answered by worker-1" "worker-1" until_done answered_by "$ingress:80" worker-1
	check master-1 "ping to master-2" "3 packets received" ping_from master-1 "${ip[master-2]}"
	check LAN "service-1 holds $vip" service-1 holder
}

# The configuration says that hv2 is lost and where its machines are to be. Machines come first: a service node that does not answer is an error.
move_machines() {
	local name
	variables hv1 true
	apply -target=virtcluster_node.service -target=virtcluster_node.cluster
	check hv-1 "all machines are there" "master-1 master-2 master-3 service-1 service-2 worker-1 worker-2" names_on hv-1
	until_done on_service 2 true
	apply
	check plan "a second one changes nothing" 0 plan_status
	until_done in_guest master-3 true
	check LAN "the API, by every master" "master-1 master-2 master-3" until_done answered_by "$api:6443" master-1 master-2 master-3
	check LAN "ingress, by both workers" "worker-1 worker-2" until_done answered_by "$ingress:80" worker-1 worker-2
	check LAN "service-2 at its floating address" service-2 on_service 2 hostname
	check hv-1 "ports of machines in the database" 7 ports
	check hv-1 "chassis in the databases" 2 chassis
	for name in master-3 worker-2; do check master-1 "ping to $name" "3 packets received" ping_from master-1 "${ip[$name]}"; done
}
ports() { on hv-1 ovn-nbctl --timeout=10 --bare --columns=name find Logical_Switch_Port 'type=""' | grep -c .; }
