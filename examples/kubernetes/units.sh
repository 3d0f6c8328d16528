# shellcheck shell=bash disable=SC2154
# Sourced by install: the unit of each program, unit_PROGRAM NAME IP, and the files of a worker's container runtime. $domain,
# $etcd_servers and $etcd_members are those of the cluster.

unit() { # DESCRIPTION TYPE COMMAND…
	local description=$1 type=$2
	shift 2
	printf '[Unit]\nDescription=%s\nAfter=network-online.target\nWants=network-online.target\nStartLimitIntervalSec=0\n\n' "$description"
	printf '[Service]\nType=%s\nExecStart=%s\nRestart=always\nRestartSec=2\nTimeoutStartSec=infinity\n\n[Install]\nWantedBy=multi-user.target\n' "$type" "$*"
}

unit_etcd() {
	local etc=/etc/kubernetes
	# Longer than etcd's own 100 and 1000 ms: its leader shall not change because a machine is busy.
	unit "etcd of Kubernetes" notify /usr/local/bin/etcd --name="$1" --data-dir=/var/lib/etcd \
		--initial-cluster="$etcd_members" --initial-cluster-state=new --initial-cluster-token="$domain" \
		--listen-peer-urls="https://$2:2380" --initial-advertise-peer-urls="https://$2:2380" \
		--listen-client-urls="https://$2:2379,https://127.0.0.1:2379" --advertise-client-urls="https://$2:2379" \
		--cert-file="$etc/$1-etcd.crt" --key-file="$etc/$1-etcd.key" --trusted-ca-file=$etc/etcd-ca.crt --client-cert-auth \
		--peer-cert-file="$etc/$1-etcd.crt" --peer-key-file="$etc/$1-etcd.key" --peer-trusted-ca-file=$etc/etcd-ca.crt --peer-client-cert-auth \
		--heartbeat-interval=250 --election-timeout=2500 --log-level=warn
}

unit_kube-apiserver() {
	local etc=/etc/kubernetes
	# One that is told to stop goes on serving for a while, and says on /readyz that it ends: load balancers leave it meanwhile.
	unit "Kubernetes' API server" notify /usr/local/bin/kube-apiserver --advertise-address="$2" --secure-port=6443 \
		--tls-cert-file="$etc/$1-apiserver.crt" --tls-private-key-file="$etc/$1-apiserver.key" --client-ca-file=$etc/ca.crt \
		--etcd-servers="$etcd_servers" --etcd-cafile=$etc/etcd-ca.crt --etcd-certfile=$etc/etcd-client.crt --etcd-keyfile=$etc/etcd-client.key \
		--kubelet-certificate-authority=$etc/ca.crt --kubelet-client-certificate=$etc/kubelet-client.crt --kubelet-client-key=$etc/kubelet-client.key \
		--service-account-issuer="https://api.$domain:6443" --service-account-key-file=$etc/service-account.pub \
		--service-account-signing-key-file=$etc/service-account.key --service-cluster-ip-range="$(of .services)" \
		--authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --shutdown-delay-duration=10s
}

# Nodes are made with the pod networks that the plan has for them, so none are given out.
unit_kube-controller-manager() {
	local etc=/etc/kubernetes
	unit "Kubernetes' controller manager" simple /usr/local/bin/kube-controller-manager --kubeconfig=$etc/controller-manager.kubeconfig \
		--root-ca-file=$etc/ca.crt --service-account-private-key-file=$etc/service-account.key --use-service-account-credentials \
		--cluster-cidr="$(of .pods)" --allocate-node-cidrs=false --leader-elect
}

unit_kube-scheduler() {
	unit "Kubernetes' scheduler" simple /usr/local/bin/kube-scheduler --kubeconfig=/etc/kubernetes/scheduler.kubeconfig --leader-elect
}

unit_kubelet() {
	unit "Kubernetes' kubelet" simple /usr/local/bin/kubelet --config=/etc/kubernetes/kubelet.json --kubeconfig="/etc/kubernetes/$1.kubeconfig" \
		--hostname-override="$1" --node-ip="$2"
}

runtime_files() { # ROOT NAME PODS
	local etc=$1/etc
	mkdir -p "$etc/containerd" "$etc/cni/net.d" "$etc/modules-load.d"
	printf 'overlay\nbridge\nveth\n' >"$etc/modules-load.d/kubernetes.conf"
	jq -n --arg name "$2" --arg pods "$3" '{
		apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration", cgroupDriver: "systemd", failSwapOn: false,
		authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: "/etc/kubernetes/ca.crt"}},
		authorization: {mode: "Webhook"}, containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock", podCIDR: $pods,
		tlsCertFile: "/etc/kubernetes/\($name).crt", tlsPrivateKeyFile: "/etc/kubernetes/\($name).key", resolvConf: "/etc/resolv.conf"}' >"$etc/kubernetes/kubelet.json"
	jq -n --arg pods "$3" '{cniVersion: "1.0.0", name: "pods", plugins: [{type: "bridge", bridge: "cni0", isGateway: true, ipMasq: false,
		ipam: {type: "host-local", ranges: [[{subnet: $pods}]], routes: [{dst: "0.0.0.0/0"}]}}]}' >"$etc/cni/net.d/10-pods.conflist"
	cat >"$etc/containerd/config.toml" <<-'TOML'
		version = 2
		[plugins."io.containerd.grpc.v1.cri"]
		  sandbox_image = "localhost/pod:1"
		[plugins."io.containerd.grpc.v1.cri".cni]
		  bin_dir = "/usr/lib/cni"
		  conf_dir = "/etc/cni/net.d"
		[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
		  runtime_type = "io.containerd.runc.v2"
		[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
		  SystemdCgroup = true
	TOML
}
