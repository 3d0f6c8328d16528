package clusterconfig

import (
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// The names are those of kubeadm.k8s.io/v1beta4, which kubeadm reads from 1.31 on.
const kubeadmVersion = "kubeadm.k8s.io/v1beta4"

var (
	arguments   = objects("extraArgs", field{name: "name", kind: text}.must(), field{name: "value", kind: text}.must())
	environment = field{name: "extraEnvs", kind: list, items: &field{kind: anything}}
	volumes     = objects("extraVolumes", field{name: "name", kind: text}.must(), field{name: "hostPath", kind: text}.must(), field{name: "mountPath", kind: text}.must(),
		field{name: "readOnly", kind: boolean}, field{name: "pathType", kind: text})
	registration = group("nodeRegistration", field{name: "name", kind: text}.checked(isHostname), field{name: "criSocket", kind: text},
		field{name: "taints", kind: list, items: &field{kind: anything}},
		objects("kubeletExtraArgs", field{name: "name", kind: text}.must(), field{name: "value", kind: text}.must()),
		texts("ignorePreflightErrors"), oneOf("imagePullPolicy", "Always", "IfNotPresent", "Never"), field{name: "imagePullSerial", kind: boolean})
	endpoint  = group("localAPIEndpoint", field{name: "advertiseAddress", kind: text}.checked(isAddress), field{name: "bindPort", kind: number}.checked(isPort))
	timeLimit = group("timeouts", field{name: "controlPlaneComponentHealthCheck", kind: text}, field{name: "kubeletHealthCheck", kind: text}, field{name: "kubernetesAPICall", kind: text},
		field{name: "etcdAPICall", kind: text}, field{name: "tlsBootstrap", kind: text}, field{name: "discovery", kind: text}, field{name: "upgradeManifests", kind: text})
	patches = group("patches", field{name: "directory", kind: text})
)

func head(version, kindName string) []field {
	return []field{oneOf("apiVersion", version).must(), oneOf("kind", kindName).must()}
}

var clusterConfiguration = group("ClusterConfiguration", append(head(kubeadmVersion, "ClusterConfiguration"),
	field{name: "clusterName", kind: text}, field{name: "kubernetesVersion", kind: text}, field{name: "controlPlaneEndpoint", kind: text}.checked(isEndpoint),
	group("networking", field{name: "serviceSubnet", kind: text}.checked(isSubnets), field{name: "podSubnet", kind: text}.checked(isSubnets), field{name: "dnsDomain", kind: text}.checked(isName)),
	group("etcd",
		group("local", field{name: "imageRepository", kind: text}, field{name: "imageTag", kind: text}, field{name: "dataDir", kind: text}, arguments, environment, texts("serverCertSANs"), texts("peerCertSANs")),
		group("external", texts("endpoints").must(), texts("httpEndpoints"), field{name: "caFile", kind: text}, field{name: "certFile", kind: text}, field{name: "keyFile", kind: text})),
	group("apiServer", texts("certSANs"), arguments, environment, volumes),
	group("controllerManager", arguments, environment, volumes), group("scheduler", arguments, environment, volumes),
	group("dns", field{name: "imageRepository", kind: text}, field{name: "imageTag", kind: text}, field{name: "disabled", kind: boolean}), group("proxy", field{name: "disabled", kind: boolean}),
	field{name: "certificatesDir", kind: text}, field{name: "imageRepository", kind: text}, field{name: "featureGates", kind: anything},
	oneOf("encryptionAlgorithm", "RSA-2048", "RSA-3072", "RSA-4096", "ECDSA-P256", "ECDSA-P384"),
	field{name: "certificateValidityPeriod", kind: text}, field{name: "caCertificateValidityPeriod", kind: text},
)...)

var initConfiguration = group("InitConfiguration", append(head(kubeadmVersion, "InitConfiguration"),
	objects("bootstrapTokens", field{name: "token", kind: text}.must(), field{name: "description", kind: text}, field{name: "ttl", kind: text}, field{name: "expires", kind: text}, texts("usages"), texts("groups")),
	registration, endpoint, field{name: "certificateKey", kind: text}, texts("skipPhases"), patches, timeLimit, field{name: "dryRun", kind: boolean},
)...)

var joinConfiguration = group("JoinConfiguration", append(head(kubeadmVersion, "JoinConfiguration"),
	group("discovery",
		group("bootstrapToken", field{name: "token", kind: text}.must(), field{name: "apiServerEndpoint", kind: text}.checked(isEndpoint), texts("caCertHashes"), field{name: "unsafeSkipCAVerification", kind: boolean}),
		group("file", field{name: "kubeConfigPath", kind: text}.must()), field{name: "tlsBootstrapToken", kind: text}).must(),
	registration, group("controlPlane", endpoint, field{name: "certificateKey", kind: text}), field{name: "caCertPath", kind: text}, texts("skipPhases"), patches, timeLimit, field{name: "dryRun", kind: boolean},
)...)

// kubeadmDocuments are what one file for kubeadm may have, in order. Those of the kubelet and kube-proxy are theirs to check.
var kubeadmDocuments = group("",
	clusterConfiguration, initConfiguration, joinConfiguration,
	field{name: "KubeletConfiguration", kind: anything}, field{name: "KubeProxyConfiguration", kind: anything},
)

var kubeadmVersions = map[string]string{
	"ClusterConfiguration": kubeadmVersion, "InitConfiguration": kubeadmVersion, "JoinConfiguration": kubeadmVersion,
	"KubeletConfiguration": "kubelet.config.k8s.io/v1beta1", "KubeProxyConfiguration": "kubeproxy.config.k8s.io/v1alpha1",
}

// KubeadmConfig renders the file that `kubeadm init --config` and `kubeadm join --config` read: a document for each key, which is its
// kind. apiVersion and kind may be left out.
func KubeadmConfig(documents map[string]any) (string, []service.Problem) {
	var parts []string
	var problems []service.Problem
	all := map[string]any{}
	for name, v := range documents {
		m, isObject := v.(map[string]any)
		if version, known := kubeadmVersions[name]; known && isObject {
			v = with(with(m, "apiVersion", version), "kind", name)
		}
		all[name] = v
	}
	kubeadmDocuments.order(all, nil, &problems)
	if len(problems) == 0 && len(all) == 0 {
		problems = append(problems, service.Problemf(nil, "Invalid document", "it is empty: write ClusterConfiguration, InitConfiguration or JoinConfiguration"))
	}
	for _, f := range kubeadmDocuments.fields {
		if v := all[f.name]; v != nil && len(problems) == 0 {
			out, err := render(f.order(v, nil, &problems))
			if err != nil {
				problems = append(problems, service.Problemf(nil, "Cannot render", "%s", err))
			}
			parts = append(parts, out)
		}
	}
	if len(problems) > 0 {
		return "", problems
	}
	return strings.Join(parts, "---\n"), nil
}
