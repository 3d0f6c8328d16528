# shellcheck shell=bash disable=SC2154
# Sourced by stages: masters and service nodes that are nodes of libvirt, and are changed and made anew in turns while somebody asks.

files=10.0.100.254:8099

# hardware MEMORY PATIENCE: the masters have so much memory, and may take so long until they serve.
hardware() {
	local name
	mkdir -p "$work/user-data" "$work/files"
	cp "$here/hardware.tf" "$work/"
	for name in service-1=1 service-2=2 master-1=3 master-2=4 master-3=5; do
		[[ -e $work/user-data/${name%=*} ]] || user_data "${name%=*}" "${name#*=}" >"$work/user-data/${name%=*}"
	done
	cat >"$work/serves" <<-EOT
		#!/bin/bash
		# serves IP says whether a master does: its API server, and its etcd.
		cd $work
		curl -fsSk --max-time 4 "https://\$1:6443/readyz" && curl -fsS --max-time 4 --cacert pki/etcd-ca.crt --cert pki/etcd-client.crt --key pki/etcd-client.key "https://\$1:2379/health" | grep '"health":"true"'
	EOT
	chmod +x "$work/serves"
	jq -n --arg work "$work" --argjson memory "$1" --arg patience "$2" '{hardware: {user_data: "\($work)/user-data", memory_mib: $memory, serves: "\($work)/serves", patience: $patience}}' >"$work/hardware.auto.tfvars.json"
}

# user_data NAME NUMBER has a machine that is made anew known by the host keys that it had, and a master join the others.
user_data() {
	local on=("$repository/test/sandbox/on" "svc-$2") kind keys='{}' join='[]'
	[[ $1 != master-* ]] || join=$(jq -n --arg command "curl -fsS http://$files/join | bash -s $1 10.0.100.10$2 http://$files" '[["bash", "-c", $command]]')
	for kind in ed25519 ecdsa; do
		keys=$(jq --arg kind "$kind" --arg private "$("${on[@]}" cat "/etc/ssh/ssh_host_${kind}_key")"$'\n' --arg public "$("${on[@]}" cat "/etc/ssh/ssh_host_${kind}_key.pub")" \
			'. + {($kind + "_private"): $private, ($kind + "_public"): $public}' <<<"$keys")
	done
	echo "#cloud-config"
	jq -n --argjson keys "$keys" --arg login "$(cat "$SANDBOX_SSH_KEY.pub")" --argjson join "$join" \
		'{disable_root: false, users: [{name: "root", ssh_authorized_keys: [$login]}], ssh_keys: $keys, runcmd: $join}'
}

make_hardware() {
	local n
	python3 -m http.server --bind "${files%:*}" --directory "$work/files" "${files#*:}" >"$work/files.log" 2>&1 &
	"$terraform" apply -auto-approve -target=virtcluster_node.master -target=virtcluster_node.service >"$work/apply.log" 2>&1 || { cat "$work/apply.log"; return 1; }
	for n in 1 2 3 4 5; do until_done "$repository/test/sandbox/on" "svc-$n" systemctl is-active multi-user.target || return; done
}

# keep_files: what a new master needs of the old one.
keep_files() {
	local n
	ln -s "$KUBERNETES_PROGRAMS" "$work/files/programs"
	cp "$here/join" "$work/files/"
	for n in 3 4 5; do
		"$repository/test/sandbox/on" "svc-$n" tar -C / -cf - etc/kubernetes etc/resolv.conf etc/systemd/system/{etcd,kube-apiserver,kube-controller-manager,kube-scheduler}.service >"$work/files/master-$((n - 2)).tar" || return
	done
}

# watch_quorum LOG asks all members of etcd five times a second, until LOG.stop is there, for a read that takes a quorum, and adds a line to LOG for
# each time: when, in milliseconds, and 0 where one of them answered.
watch_quorum() {
	local log=$1 members=(https://10.0.100.10{3,4,5}:2379/health)
	rm -f "$log.stop"
	: >"$log"
	while [[ ! -e $log.stop ]]; do
		{
			began=$(date +%s%3N) status=0
			[[ $(with_key --parallel "${members[@]}" 2>/dev/null || true) == *'"health":"true"'* ]] || status=1
			echo "$began $status" >>"$log"
		} &
		sleep 0.2
	done
	wait
}

# rolled WHERE WHAT COMMAND… is stopped, which nobody may notice, while etcd is watched too.
rolled() {
	local log=$work/quorum.log watcher said
	watch_quorum "$log" &
	watcher=$!
	stopped "$1" "requests failed while $2" 0 "${@:3}"
	touch "$log.stop"
	wait "$watcher"
	said=$(failures "$log")
	if within 0 "$said"; then check machines "etcd without a quorum while $2" "$said" echo "$said"; else check machines "etcd without a quorum while $2" "never" echo "$said"; fi
}

# uuids prints the ids of nodes.
uuids() { for name; do virsh domuuid "$name"; done | xargs; }

# replace NAME… makes nodes anew in one apply; master-N are masters, service-N service nodes.
replace() {
	local name replaces=()
	for name; do replaces+=("-replace=virtcluster_node.${name%-*}[\"$name\"]"); done
	apply "${replaces[@]}"
}

masters=(master-1 master-2 master-3)

# One master of which the files are not there does not come back.
replace_in_vain() {
	local name
	for name in "${masters[@]}"; do mv "$work/files/$name.tar" "$work/files/$name.away"; done
	! replace "${masters[@]}" >"$work/vain.log"
}

count_serving() {
	local n serving=0
	for n in 3 4 5; do ! "$work/serves" "10.0.100.10$n" >/dev/null 2>&1 || serving=$((serving + 1)); done
	echo "$serving"
}

mend_masters() {
	local name
	for name in "${masters[@]}"; do mv "$work/files/$name.away" "$work/files/$name.tar"; done
	hardware 96 15m
	apply
}

check_roll() {
	local before
	hardware 96 15m
	rolled outside "the memory of all masters is changed" apply
	check machines "the masters have it" "98304 98304 98304" bash -c 'for n in 1 2 3; do virsh dominfo master-$n | sed -n "s/^Max memory: *\([0-9]*\) KiB/\1/p"; done | xargs'
	before=$(uuids "${masters[@]}")
	rolled outside "all masters are made anew" replace "${masters[@]}"
	check machines "the masters are others" yes test_others "$before" "${masters[@]}"
	check machines "etcd has three members" 3 count_members
	before=$(uuids service-1 service-2)
	rolled outside "both service nodes are made anew" replace service-1 service-2
	check machines "the service nodes are others" yes test_others "$before" service-1 service-2
	check plan "a plan after all of it is empty" "*No changes.*" "$terraform" plan -no-color
	hardware 96 90s
	rolled outside "a master that is made anew does not come back" replace_in_vain
	check machines "masters that serve then" 2 count_serving
	check plan "it says how to go on" "*the others stay as they are. Mend it and apply again*" unwrap "$work/vain.log"
	rolled outside "the next apply mends it" mend_masters
	check machines "masters that serve then" 3 count_serving
}

# unwrap FILE prints what Terraform says as one line, without its colours and frames.
unwrap() { sed 's/\x1b\[[0-9;]*m//g; s/│//g' "$1" | tr -s '\n ' ' '; }

test_others() { # UUIDS NAME…
	local uuid now
	now=$(uuids "${@:2}")
	for uuid in $1; do [[ $now != *$uuid* ]] || { echo "no: $now"; return; }; done
	echo yes
}

count_members() { with_key -d '{}' https://10.0.100.103:2379/v3/cluster/member/list | jq '.members | length'; }
