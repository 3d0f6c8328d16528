# Sourced by stages: each check asks with the tool that a person would ask with.

services=(10.0.0.100 10.0.0.101)
inside=10.0.0.250
outside=10.19.41.160

lan() { "$repository/test/sandbox/on" lan-client "$@"; }

on_service() {
	local address=$1
	shift
	ssh -n -i "$SANDBOX_SSH_KEY" -o BatchMode=yes -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile="$work/known_hosts" \
		-o LogLevel=ERROR -o ConnectTimeout=60 "root@$address" "$@"
}

answer() { dig +short +time=10 "@$1" "${@:2}"; }
fetch() { curl -sS --max-time 30 "$@"; }
answer_outside() { lan dig +short +time=10 "@$1" "${@:2}"; }
fetch_outside() { lan curl -sS --max-time 30 "$@"; }

# in_guest runs a shell script in a node by its guest agent, as a program of the node would run; commands are BusyBox's.
in_guest() {
	local pid answer deadline=$((SECONDS + patience))
	pid=$(agent "$1" "$(jq -cn --arg script "$2" '{execute: "guest-exec", arguments: {path: "/bin/sh", arg: ["-c", $script], "capture-output": true}}')" | jq .return.pid) || return
	while ((SECONDS < deadline)); do
		answer=$(agent "$1" "{\"execute\": \"guest-exec-status\", \"arguments\": {\"pid\": $pid}}") || return
		[[ $(jq .return.exited <<<"$answer") != true ]] || break
		sleep 0.2
	done
	jq -r '.return["out-data", "err-data"] // "" | @base64d' <<<"$answer"
}
# BusyBox's wget does not live without glibc's modules for names, which its nc does without.
fetch_in_guest() { in_guest "$1" "printf 'GET /readyz HTTP/1.0\r\n\r\n' | busybox nc -w 30 $2 $3"; }
agent() { virsh qemu-agent-command "$1" "$2"; }

# status is how a server answers a stranger on the LAN.
status() { lan dig +time=10 "@$1" "$2" | grep -o 'status: [A-Z]*'; }

holder() {
	local address
	for address in "${services[@]}"; do
		# grep reads to the end: with -q it would be gone while ssh still writes, and that is a failure of the pipe.
		on_service "$address" ip -o -4 address show 2>/dev/null | grep -F " $1/" >/dev/null && echo "$address"
	done
	return 0
}

# one_holder says whether one of the two has an address and no other: where both are slow, both may for a moment.
one_holder() { [[ $(holder "$1" | wc -l) == 1 ]]; }
other_than() { printf '%s\n' "${services[@]}" | grep -vxF "$1"; }
moved_from() { [[ $(holder "$inside") == "$(other_than "$1")" ]]; }

# A tiny guest answers HTTP some seconds after it is defined; HAProxy takes it in after two good checks.
wait_for_backends() {
	local port
	for port in 6443 22623 80 443; do until_done fetch -o /dev/null "http://$inside:$port/" || return; done
	until_done one_holder "$inside"
}

check_all() {
	local s
	check hypervisor "domains that run" 8 bash -c 'virsh list --name | grep -c okd-'
	check hypervisor "bridge kiextbr0 has eno1's address" '*10.19.41.10/24*' ip -o -4 address show dev kiextbr0
	check hypervisor "ifupdown, which manages eno1, keeps the bridge over reboots" '*auto kiextbr0*10.19.41.10/24*10.19.41.254*' cat /etc/network/interfaces.d/virtcluster-kiextbr0
	check hypervisor "the way out still leads over kiextbr0" '*via 10.19.41.254 dev kiextbr0*' ip route show default
	for s in "${services[@]}"; do
		check inside "api at $s" "$inside" answer "$s" api.okd.example
		check inside "api-int at $s" "$inside" answer "$s" api-int.okd.example
		check inside "anything.apps at $s" "$inside" answer "$s" anything.apps.okd.example
		check inside "okd-worker-02 at $s" 10.0.0.5 answer "$s" okd-worker-02.okd.example
		check inside "10.0.0.1 backwards at $s" okd-master-01.okd.example. answer "$s" -x 10.0.0.1
		check inside "etcd's SRV records at $s" '*2380 etcd-0*2380 etcd-1*2380 etcd-2*' sorted answer "$s" SRV _etcd-server-ssl._tcp.okd.example
	done
	for s in 10.19.41.157 10.19.41.158 "$outside"; do
		check outside "api at $s" "$outside" answer_outside "$s" api.okd.example
		check outside "anything.apps at $s" "$outside" answer_outside "$s" anything.apps.okd.example
		check outside "api-int at $s does not exist" "status: NXDOMAIN" status "$s" api-int.okd.example
		check outside "no recursion for strangers at $s" "status: REFUSED" status "$s" example.org
	done
	check inside "the API answers" 'okd-*' fetch "http://$inside:6443/readyz"
	check inside "machine configuration answers" 'okd-*' fetch "http://$inside:22623/"
	check inside "ingress answers, 80" 'okd-worker-0?*' fetch "http://$inside:80/"
	check inside "ingress answers, 443" 'okd-worker-0?*' fetch "http://$inside:443/"
	check outside "the API answers" 'okd-*' fetch_outside "http://$outside:6443/readyz"
	check outside "ingress answers, 80" 'okd-worker-0?*' fetch_outside "http://$outside:80/"
	check outside "machine configuration is refused" '*ailed to connect*' fetch_outside "http://$outside:22623/"
	for s in okd-master-01 okd-worker-02; do
		check $s "its name servers are the service nodes" "*nameserver ${services[0]}*nameserver ${services[1]}*" in_guest $s 'busybox cat /etc/resolv.conf'
		check $s "api-int has its address" "*api-int.okd.example*$inside*" in_guest $s 'busybox nslookup api-int.okd.example'
		check $s "the API answers by its name" '*200 OK*okd-*' fetch_in_guest $s api-int.okd.example 6443
		check $s "machine configuration answers by its name" '*200 OK*okd-*' fetch_in_guest $s api-int.okd.example 22623
	done
	check inside "one holder of $inside" '10.0.0.10[01]' holder "$inside"
	check inside "the same one holds $outside" "$(holder "$inside")" holder "$outside"
}

sorted() { "$@" | sort; }

# The client asks all the time; the holder's keepalived is killed hard, then its haproxy's turn comes by the plan.
check_failover() {
	local old since log=$work/client.log
	old=$(holder "$inside")
	since=$(date +%s%3N)
	client "$log" --max-time 2 "http://$outside:80/"
	until_done goes_on "$log" "$since" || return
	on_service "$old" systemctl kill --signal=SIGKILL keepalived
	on_service "$old" systemctl stop keepalived
	until_done moved_from "$old" || true
	since=$(date +%s%3N)
	check inside "the address moved from $old" "$(other_than "$old")" holder "$inside"
	check outside "the client goes on" "20 answers in a row" until_done goes_on "$log" "$since"
	end_client "$log"
	failures "$log"
	check outside "nobody was served for less than 40 s" '?([1-3])[0-9].[0-9] s' longest_silence "$log"
	on_service "$old" systemctl start keepalived
	stage_apply
}

# What does not run HAProxy must not hold the addresses: keepalived watches the process.
check_process() {
	local old
	until_done one_holder "$inside" || return
	old=$(holder "$inside")
	on_service "$old" systemctl stop haproxy
	until_done moved_from "$old" || true
	check inside "without HAProxy the address moved from $old" "$(other_than "$old")" holder "$inside"
	check outside "and is answered" 'okd-worker-0?*' fetch_outside "http://$outside:80/"
	on_service "$old" systemctl start haproxy
}

stage_apply() { "$terraform" apply -auto-approve -parallelism=32 "$@" >"$work/apply.log" 2>&1 || { cat "$work/apply.log"; return 1; }; }

# planned VARIABLES… lists what a plan would do: "update virtcluster_dns_zone.internal["…"]".
planned() {
	"$terraform" plan -parallelism=32 -out="$work/plan" "$@" >"$work/plan.log" 2>&1 || { cat "$work/plan.log"; return 1; }
	"$terraform" show -json "$work/plan" |
		jq -r '.resource_changes[] | select(.change.actions != ["no-op"] and .change.actions != ["read"]) | (.change.actions | join("+")) + " " + .address' | sort
}

workers='-var=workers={"okd-worker-01":{"mac":"52:54:00:61:22:5a","ip":"10.0.0.4"},"okd-worker-02":{"mac":"52:54:00:21:fd:fd","ip":"10.0.0.5"},"okd-worker-03":{"mac":"52:54:00:77:03:03","ip":"10.0.0.6"}}'

check_worker() {
	local changes guests
	guests=$(running_since)
	changes=$(planned "$workers")
	echo "$changes"
	check plan "one node is made" 'create virtcluster_node.cluster?"okd-worker-03"?' grep '^create' <<<"$changes"
	check plan "and each service node's zone, pointers, two backends" 8 grep -c '^update virtcluster_\(dns_zone.\(internal\|reverse\)\|haproxy_backend.balanced.*ingress\)' <<<"$changes"
	check plan "and nothing else" 9 wc -l <<<"$changes"
	stage_apply "$workers"
	check inside "okd-worker-03 has its name" 10.0.0.6 answer 10.0.0.100 okd-worker-03.okd.example
	check inside "and its pointer" okd-worker-03.okd.example. answer 10.0.0.101 -x 10.0.0.6
	check hypervisor "no other node was restarted" "$guests" running_since
}

# Names and process ids of the guests that were there at first: a restart would change the id.
running_since() {
	local name
	for name in $(virsh list --name | grep okd- | grep -v okd-worker-03 | sort); do
		printf '%s=%s ' "$name" "$(cat "/run/libvirt/qemu/$name.pid")"
	done
	local s
	for s in "${services[@]}"; do on_service "$s" systemctl show --property=MainPID --value named haproxy | tr '\n' ' '; done
}

check_bootstrap() {
	check plan "one variable removes it" 'delete virtcluster_node.cluster?"okd-bootstrap-01"?' bash -c 'grep ^delete <<<"$1"' - "$(planned "$workers" -var=bootstrap=false)"
	stage_apply "$workers" -var=bootstrap=false
	check hypervisor "okd-bootstrap-01 is gone" 0 bash -c 'virsh list --all --name | grep -c bootstrap || true'
	check inside "its name is gone" "" answer 10.0.0.100 okd-bootstrap-01.okd.example
}

# drift WHAT ADDRESS ATTRIBUTE: a plan shows the attribute of the resource, and an apply mends it.
drift() {
	local changes
	changes=$(planned "$workers" -var=bootstrap=false)
	check plan "$1 shows as drift" "update $2" echo "$changes"
	check plan "on the attribute $3" "*$3*" "$terraform" show -no-color "$work/plan"
	stage_apply "$workers" -var=bootstrap=false
	check plan "and is mended" "" planned "$workers" -var=bootstrap=false
}

check_drift() {
	local file
	file=$(on_service 10.0.0.100 grep -rlE '^okd-worker-02\\b.*10.0.0.5' /etc/bind /var/lib/bind | head -n 1)
	on_service 10.0.0.100 sed -i "'s/10\\.0\\.0\\.5$/10.0.0.55/'" "$file"
	drift "a hand-edited zone file" 'virtcluster_dns_zone.internal?"okd-service-01"?' okd-worker-02
	on_service 10.0.0.100 sed -i "'s/balance roundrobin/balance leastconn/;'" /etc/haproxy/haproxy.cfg
	check plan "a hand-edited haproxy.cfg shows as drift" '*update virtcluster_haproxy_backend.balanced*' planned "$workers" -var=bootstrap=false
	check plan "on the attribute balance" '*balance*leastconn*roundrobin*' "$terraform" show -no-color "$work/plan"
	stage_apply "$workers" -var=bootstrap=false
	virsh net-update kimgtnet0 add ip-dhcp-range "<range start='10.0.0.241' end='10.0.0.245'/>" --live --config >/dev/null
	drift "a hand-edited network" virtcluster_network.management dhcp
}

check_refusal() {
	cat >"$work/refused.tf" <<-EOT
		resource "virtcluster_haproxy_backend" "refused" {
		  service_node = virtcluster_haproxy.service["okd-service-01"].service_node
		  name         = "refused"
		  mode         = "tcp"
		  extra_config = "option httpchk-nonsense"
		  servers      = { one = { address = "10.0.0.1", port = 6443 } }
		}
	EOT
	check apply "fails with HAProxy's own words" "*httpchk-nonsense*" "$terraform" apply -auto-approve -no-color "$workers" -var=bootstrap=false
	rm "$work/refused.tf"
	check inside "the old configuration goes on serving" 'okd-*' fetch "http://$inside:6443/readyz"
	stage_apply "$workers" -var=bootstrap=false
}

# inventory is everything that a topology could leave behind on the hypervisor.
inventory() {
	virsh list --all --name
	virsh net-list --all --name
	virsh pool-list --all --name
	virsh nwfilter-list | awk 'NR > 2 { print $2 }'
	ip -br link | awk '{ print $1 }' | sort
	ip -br -4 address
	ip route
	pgrep -c 'qemu|dnsmasq' || true
	md5sum /etc/network/interfaces /etc/network/interfaces.d/* 2>/dev/null || true
	find /var/lib/libvirt /etc/libvirt -type f | sed '/\/cache\//d; /\/lockd\//d' | sort
	# A lock's own files stay until the next boot: whoever removed one could take it from somebody who waits for it.
	find /run/virtcluster -type f ! -name '*.lock' ! -name '*.holder' 2>/dev/null || true
}

# Processes that were told to end take a moment.
compare_inventory() { diff <(echo "$before") <(inventory); }
check_leftovers() {
	check hypervisor "everything is as it was before" "" until_done compare_inventory
}
