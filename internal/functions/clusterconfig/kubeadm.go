package clusterconfig

import (
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// The names are those of kubeadm.k8s.io/v1beta4, which kubeadm reads from 1.31 on.
const kubeadmVersion = "kubeadm.k8s.io/v1beta4"

var (
	arguments   = objectsField("extraArgs", field{name: "name", kind: text}.asRequired(), field{name: "value", kind: text}.asRequired())
	environment = field{name: "extraEnvs", kind: list, items: &field{kind: anything}}
	volumes     = objectsField("extraVolumes", field{name: "name", kind: text}.asRequired(), field{name: "hostPath", kind: text}.asRequired(), field{name: "mountPath", kind: text}.asRequired(),
		field{name: "readOnly", kind: boolean}, field{name: "pathType", kind: text})
	registration = groupField("nodeRegistration", field{name: "name", kind: text}.withCheck(isHostname), field{name: "criSocket", kind: text},
		field{name: "taints", kind: list, items: &field{kind: anything}},
		objectsField("kubeletExtraArgs", field{name: "name", kind: text}.asRequired(), field{name: "value", kind: text}.asRequired()),
		textsField("ignorePreflightErrors"), oneOf("imagePullPolicy", "Always", "IfNotPresent", "Never"), field{name: "imagePullSerial", kind: boolean})
	endpoint  = groupField("localAPIEndpoint", field{name: "advertiseAddress", kind: text}.withCheck(isAddress), field{name: "bindPort", kind: number}.withCheck(isPort))
	timeLimit = groupField("timeouts", field{name: "controlPlaneComponentHealthCheck", kind: text}, field{name: "kubeletHealthCheck", kind: text}, field{name: "kubernetesAPICall", kind: text},
		field{name: "etcdAPICall", kind: text}, field{name: "tlsBootstrap", kind: text}, field{name: "discovery", kind: text}, field{name: "upgradeManifests", kind: text})
	patches = groupField("patches", field{name: "directory", kind: text})
)

func versionFields(version, kindName string) []field {
	return []field{oneOf("apiVersion", version).asRequired(), oneOf("kind", kindName).asRequired()}
}

var clusterConfiguration = groupField("ClusterConfiguration", append(versionFields(kubeadmVersion, "ClusterConfiguration"),
	field{name: "clusterName", kind: text}, field{name: "kubernetesVersion", kind: text}, field{name: "controlPlaneEndpoint", kind: text}.withCheck(isEndpoint),
	groupField("networking", field{name: "serviceSubnet", kind: text}.withCheck(isSubnets), field{name: "podSubnet", kind: text}.withCheck(isSubnets), field{name: "dnsDomain", kind: text}.withCheck(isName)),
	groupField("etcd",
		groupField("local", field{name: "imageRepository", kind: text}, field{name: "imageTag", kind: text}, field{name: "dataDir", kind: text}, arguments, environment, textsField("serverCertSANs"), textsField("peerCertSANs")),
		groupField("external", textsField("endpoints").asRequired(), textsField("httpEndpoints"), field{name: "caFile", kind: text}, field{name: "certFile", kind: text}, field{name: "keyFile", kind: text})),
	groupField("apiServer", textsField("certSANs"), arguments, environment, volumes),
	groupField("controllerManager", arguments, environment, volumes), groupField("scheduler", arguments, environment, volumes),
	groupField("dns", field{name: "imageRepository", kind: text}, field{name: "imageTag", kind: text}, field{name: "disabled", kind: boolean}), groupField("proxy", field{name: "disabled", kind: boolean}),
	field{name: "certificatesDir", kind: text}, field{name: "imageRepository", kind: text}, field{name: "featureGates", kind: anything},
	oneOf("encryptionAlgorithm", "RSA-2048", "RSA-3072", "RSA-4096", "ECDSA-P256", "ECDSA-P384"),
	field{name: "certificateValidityPeriod", kind: text}, field{name: "caCertificateValidityPeriod", kind: text},
)...)

var initConfiguration = groupField("InitConfiguration", append(versionFields(kubeadmVersion, "InitConfiguration"),
	objectsField("bootstrapTokens", field{name: "token", kind: text}.asRequired(), field{name: "description", kind: text}, field{name: "ttl", kind: text}, field{name: "expires", kind: text}, textsField("usages"), textsField("groups")),
	registration, endpoint, field{name: "certificateKey", kind: text}, textsField("skipPhases"), patches, timeLimit, field{name: "dryRun", kind: boolean},
)...)

var joinConfiguration = groupField("JoinConfiguration", append(versionFields(kubeadmVersion, "JoinConfiguration"),
	groupField("discovery",
		groupField("bootstrapToken", field{name: "token", kind: text}.asRequired(), field{name: "apiServerEndpoint", kind: text}.withCheck(isEndpoint), textsField("caCertHashes"), field{name: "unsafeSkipCAVerification", kind: boolean}),
		groupField("file", field{name: "kubeConfigPath", kind: text}.asRequired()), field{name: "tlsBootstrapToken", kind: text}).asRequired(),
	registration, groupField("controlPlane", endpoint, field{name: "certificateKey", kind: text}), field{name: "caCertPath", kind: text}, textsField("skipPhases"), patches, timeLimit, field{name: "dryRun", kind: boolean},
)...)

// kubeadmDocuments are what one file for kubeadm may have, in order. Those of the kubelet and kube-proxy are theirs to check.
var kubeadmDocuments = groupField("",
	clusterConfiguration, initConfiguration, joinConfiguration,
	field{name: "KubeletConfiguration", kind: anything}.withCheck(isObject), field{name: "KubeProxyConfiguration", kind: anything}.withCheck(isObject),
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
			v = withField(withField(m, "apiVersion", version), "kind", name)
		}
		all[name] = v
	}
	kubeadmDocuments.orderValue(all, nil, &problems)
	for _, f := range kubeadmDocuments.fields {
		if v := all[f.name]; v != nil && len(problems) == 0 {
			out, err := renderYAML(f.orderValue(v, nil, &problems))
			if err != nil {
				problems = append(problems, service.Problemf(nil, "Cannot render", "%s", err))
			}
			parts = append(parts, out)
		}
	}
	if len(problems) == 0 && len(parts) == 0 {
		problems = append(problems, service.Problemf(nil, "Invalid document", "it is empty: write ClusterConfiguration, InitConfiguration or JoinConfiguration"))
	}
	if len(problems) > 0 {
		return "", problems
	}
	return strings.Join(parts, "---\n"), nil
}
