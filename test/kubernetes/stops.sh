# shellcheck shell=bash disable=SC2154
# Sourced by stages: what a client that goes on asking notices while machines stop.

# ask LOG begins the client. /readyz would not do: a server that is about to stop fails that while it serves.
ask() { client "$1" --max-time 3 --cacert "$work/pki/ca.crt" --resolve "api.k8s.example:6443:$outside" https://api.k8s.example:6443/version; }

# counted LOG ends the client and says how many of its requests failed.
counted() {
	end_client "$1"
	failures "$1"
}

# Seconds that requests may fail for, from the first that begins to the last one. HAProxy leaves a server after two failed checks, 1 s
# apart, of which each may take 1 s to fail, and what it cannot connect to meanwhile it asks another server after 1 s. A service node's
# address moves when three advertisements of 1 s did not come.
window=5

# within SECONDS SAYING: what the client counted lies within so many seconds; with none, nothing may have failed. A client that never
# asked has shown nothing.
within() {
	awk -v limit="$1" '$3 + 0 == 0 { exit 1 } $1 == 0 { exit 0 } { exit !(limit > 0 && $6 != "" && $6 + 0 <= limit) }' <<<"$2"
}

# stopped WHERE WHAT LIMIT COMMAND…: the row of the client's failures while COMMAND runs, which may fail within LIMIT seconds, or none.
stopped() {
	local where=$1 what=$2 limit=$3 log=$work/client.log said since
	shift 3
	since=$(date +%s%3N)
	ask "$log"
	until_done goes_on "$log" "$since" || return
	"$@" >"$work/stopped.log" 2>&1 || {
		cat "$work/stopped.log"
		check "$where" "$what" "that it serves again" counted "$log"
		return
	}
	since=$(date +%s%3N)
	until_done goes_on "$log" "$since" || true
	said=$(counted "$log")
	if within "$limit" "$said"; then check "$where" "$what" "$said" echo "$said"; else check "$where" "$what" "none after $limit s" echo "$said"; fi
}

# reset MACHINE: by its button, no service is stopped first; until it serves again.
reset() {
	"$repository/test/sandbox/reboot" --now "$1"
	serves_again "$1"
}

serves_again() {
	case $1 in
	svc-[12]) until_done services_active "$1" || { say_services "$1"; return 1; } ;;
	*) until_done curl -sfk --max-time 2 "https://10.0.100.10${1#svc-}:6443/readyz" || { diagnose; return 1; } ;;
	esac
	# HAProxy takes it in after two good checks.
	sleep 5
}

# services_active MACHINE asks for each unit itself: systemctl is content with one of several that is active.
services_active() {
	local unit
	for unit in haproxy named keepalived; do
		"$repository/test/sandbox/on" "$1" systemctl is-active --quiet "$unit" || { echo "$unit of $1 is not active"; return 1; }
	done
	"$repository/test/sandbox/on" "$1" journalctl --boot -u keepalived | grep -o 'entering FAULT\|Entering [A-Z]* STATE' | tail -n 1 | grep -q 'Entering [BM]' ||
		{ echo "keepalived of $1 could not hold an address"; return 1; }
}

# say_services shows what a service node says of itself when its services do not come back.
say_services() {
	"$repository/test/sandbox/on" "$1" systemctl --no-pager --failed || true
	"$repository/test/sandbox/on" "$1" journalctl --no-pager --boot -n 60 -u systemd-tmpfiles-setup -u haproxy -u named -u keepalived || true
}

# An API server that is stopped by systemd, as for an update.
restart_api() {
	"$repository/test/sandbox/on" "$1" systemctl restart kube-apiserver
	serves_again "$1"
}

check_stops() {
	local n
	for n in 3 4 5; do stopped outside "requests failed while master-$((n - 2))'s API server is restarted" 0 restart_api "svc-$n"; done
	for n in 3 4 5; do stopped outside "requests failed while master-$((n - 2)) is reset" "$window" reset "svc-$n"; done
	for n in 1 2; do stopped outside "requests failed while service-$n is reset" "$window" reset "svc-$n"; done
	((workers == 0)) || check outside "kubectl after all of it: worker-1 is ready" True kubectl get node worker-1 -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
}

add_worker() {
	variables 2 1
	apply && install_members worker-2 && register_workers 2
}

remove_bootstrap() {
	variables $((workers * 2)) 0
	apply
	"$repository/test/sandbox/on" svc-6 systemctl disable --now kube-apiserver
}

check_growth() {
	local address
	variables 2 1
	"$terraform" plan -no-color -out=plan.out >plan.log 2>&1 || { cat plan.log; return 1; }
	"$terraform" show -json plan.out | jq -c '.resource_changes[] | select(.type == "virtcluster_pod_network") | .change.after.pod_cidrs' >grown.json
	check plan "worker-1 keeps its pods" "$(jq -r '.["worker-1"]' promised.json)" jq -r '.["worker-1"]' grown.json
	stopped outside "requests failed while worker-2 is added" 0 add_worker
	check outside "worker-2 has the pods that the plan promised" "$(jq -r '.["worker-2"]' grown.json)" kubectl get node worker-2 -o 'jsonpath={.spec.podCIDR}'
	address=$(pod_address worker-2)
	check worker-1 "a pod of worker-1 reaches one of worker-2" "pod of worker-2" kubectl exec "$(kubectl get pods -l app=web --field-selector spec.nodeName=worker-1 -o name)" -- /bin/wget -qO- "http://$address:8080/"
}

check_bootstrap() {
	stopped outside "requests failed while the bootstrap is removed" 0 remove_bootstrap
	check machines "its name is gone" "" dig +short +time=2 @10.0.100.101 bootstrap.k8s.example
}
