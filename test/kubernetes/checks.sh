# shellcheck shell=bash disable=SC2154
# Sourced by stages: what is asked of the cluster, by the programs that its people would use.

outside=10.19.41.160
lan() { "$repository/test/sandbox/on" lan-client "$@"; }
# kubectl asks from the LAN, by the name that the service nodes give for the outside address.
kubectl() { lan timeout 30 "$work/programs/kubectl" --kubeconfig="$work/pki/admin.kubeconfig" --request-timeout=10s "$@"; }

plan_pods() {
	"$terraform" plan -no-color -out=plan.out >plan.log 2>&1 || { cat plan.log; return 1; }
	"$terraform" show -json plan.out | jq -c '.resource_changes[] | select(.type == "virtcluster_pod_network") | .change.after.pod_cidrs' >promised.json
	((workers == 0)) || check plan "pods of worker-1" '10.200.*.0/24' jq -r '.["worker-1"]' promised.json
}

install_members() { ./install cluster.json programs "$@"; }

wait_for_api() { until_done kubectl get --raw /readyz || { diagnose; return 1; }; }

# diagnose shows what the machines say of themselves when the cluster does not come.
diagnose() {
	local n
	for n in 3 4 5 6; do
		"$repository/test/sandbox/on" "svc-$n" journalctl --no-pager -n 25 -u etcd -u kube-apiserver || true
	done
}

register_workers() { # COUNT
	"$terraform" output -json nodes >nodes.json
	until_done kubectl apply -f nodes.json
	cat >pods.yaml <<-'YAML'
		apiVersion: apps/v1
		kind: DaemonSet
		metadata: { name: web }
		spec:
		  selector: { matchLabels: { app: web } }
		  template:
		    metadata: { labels: { app: web } }
		    spec:
		      terminationGracePeriodSeconds: 1
		      containers:
		        - name: web
		          image: localhost/pod:1
		          imagePullPolicy: Never
		          command: [/bin/sh, -c, "mkdir /www && echo pod of $NODE >/www/index.html && exec httpd -f -p 8080 -h /www"]
		          env: [{ name: NODE, valueFrom: { fieldRef: { fieldPath: spec.nodeName } } }]
	YAML
	until_done kubectl apply -f pods.yaml
	until_done all_ready "$1" || { kubectl get nodes,pods -A -o wide; kubectl describe nodes | tail -40; worker_says; return 1; }
}

all_ready() { [[ $(kubectl get daemonset web -o jsonpath='{.status.numberReady}') == "$1" ]]; }

worker_says() { ssh root@10.0.100.121 journalctl --no-pager -n 40 -u kubelet -u containerd || true; }

pod_address() { kubectl get pods -l app=web --field-selector "spec.nodeName=$1" -o jsonpath='{.items[0].status.podIP}'; }

# read_kubeconfig has the provider read the administrator's kubeconfig from a master, where kubeadm leaves it, and write it by a provisioner; it prints what
# of its key is in the state, which is nothing.
read_kubeconfig() {
	scp -q pki/admin.kubeconfig root@10.0.100.103:/etc/kubernetes/admin.conf
	mkdir -p read
	cat >read/main.tf <<-HCL
		terraform {
		  required_providers {
		    virtcluster = { source = "virtcluster/virtcluster" }
		  }
		}
		provider "virtcluster" {
		  ssh = { private_key_file = "$SANDBOX_SSH_KEY" }
		}
		ephemeral "virtcluster_kubeconfig" "admin" {
		  endpoint = "ssh://root@10.0.100.103"
		}
		resource "terraform_data" "asked" {
		  provisioner "local-exec" {
		    command     = "umask 077; printf %s \"\$TEXT\" >asked.kubeconfig"
		    environment = { TEXT = ephemeral.virtcluster_kubeconfig.admin.kubeconfig }
		  }
		}
	HCL
	(cd read && "$terraform" init -input=false -no-color && "$terraform" apply -auto-approve -no-color) >read.log 2>&1 || { cat read.log; return 1; }
	grep -ci 'client-key\|private key' read/terraform.tfstate || true
}

check_kubeconfig() {
	check master-1 "its kubeconfig is read, and not in the state" 0 read_kubeconfig
	check outside "kubectl: it may do everything with what was read" yes lan timeout 30 "$work/programs/kubectl" --kubeconfig="$work/read/asked.kubeconfig" auth can-i '*' '*'
}

# of_etcd asks a member, as the API servers do, with the certificate that it wants.
of_etcd() { curl -sS --max-time 5 --cacert pki/etcd-ca.crt "$@"; }
with_key() { of_etcd --cert pki/etcd-client.crt --key pki/etcd-client.key "$@"; }

check_control_plane() {
	local n
	for n in 3 4 5; do
		check machines "etcd of master-$((n - 2)) is healthy, by TLS" '*"health":"true"*' with_key "https://10.0.100.10$n:2379/health"
	done
	check machines "etcd has three members" 3 bash -c "curl -sS --cacert pki/etcd-ca.crt --cert pki/etcd-client.crt --key pki/etcd-client.key -d '{}' https://10.0.100.103:2379/v3/cluster/member/list | jq '.members | length'"
	check machines "etcd refuses who has no certificate" 'curl: (*' of_etcd https://10.0.100.103:2379/health
	for n in 101 102; do
		check outside "api.k8s.example at 10.19.41.$n" "$outside" lan dig +short +time=2 "@10.19.41.$n" api.k8s.example
		check machines "api-int.k8s.example at 10.0.100.$n" 10.0.100.250 dig +short +time=2 "@10.0.100.$n" api-int.k8s.example
	done
	check outside "kubectl: the version" "*Server Version: $(awk '$1 == "k8s.io/kubernetes" { print $2 }' "$here/binaries/go.mod")*" kubectl version
	check outside "kubectl: /readyz over $outside" ok kubectl get --raw /readyz
	check outside "kubectl: masters, and bootstrap, are endpoints" '*10.0.100.103*10.0.100.104*10.0.100.105*' kubectl get endpointslices kubernetes -o 'jsonpath={.endpoints[*].addresses[0]}'
	check_kubeconfig
}

check_worker() {
	local address name
	check outside "kubectl: worker-1 is ready" True kubectl get node worker-1 -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
	check outside "its pods are those that the plan promised" "$(jq -r '.["worker-1"]' promised.json)" kubectl get node worker-1 -o 'jsonpath={.spec.podCIDR}'
	address=$(pod_address worker-1)
	check outside "a pod's address is one of them" "$(jq -r '.["worker-1"] | sub("[.]0/24$"; "")' promised.json).*" echo "$address"
	for name in 3 4 5; do
		check "svc-$name" "master-$((name - 2)) reaches the pod by its route" "pod of worker-1" "$repository/test/sandbox/on" "svc-$name" curl -sS --max-time 5 "http://$address:8080/"
	done
	check outside "kubectl exec, by a master to the kubelet" "pod of worker-1" kubectl exec daemonset/web -- /bin/wget -qO- http://127.0.0.1:8080/
}
