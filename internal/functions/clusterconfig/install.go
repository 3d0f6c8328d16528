package clusterconfig

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// machinePool is a group of machines. The names are those of OpenShift's installer, as are all below (its CRD installconfigs.v1).
func machinePool(name string, more ...field) field {
	return groupField(name, slices.Concat([]field{
		{name: "name", kind: text},
		oneOf("architecture", "amd64", "arm64", "ppc64le", "s390x", "multi"),
		oneOf("hyperthreading", "Enabled", "Disabled"),
		field{name: "replicas", kind: number}.withCheck(atLeast(0)),
		{name: "platform", kind: anything},
		{name: "diskSetup", kind: anything},
		{name: "fencing", kind: anything},
	}, more)...)
}

var rootDeviceHints = groupField("rootDeviceHints",
	field{name: "deviceName", kind: text}, field{name: "hctl", kind: text}, field{name: "model", kind: text}, field{name: "vendor", kind: text},
	field{name: "serialNumber", kind: text}, field{name: "minSizeGigabytes", kind: number}, field{name: "wwn", kind: text},
	field{name: "wwnWithExtension", kind: text}, field{name: "wwnVendorExtension", kind: text}, field{name: "rotational", kind: boolean},
)

var bareMetal = groupField("baremetal",
	field{name: "libvirtURI", kind: text}, field{name: "clusterProvisioningIP", kind: text}.withCheck(isAddress), field{name: "bootstrapProvisioningIP", kind: text}.withCheck(isAddress),
	field{name: "externalBridge", kind: text}, field{name: "externalMACAddress", kind: text}.withCheck(isMAC),
	oneOf("provisioningNetwork", "Managed", "Unmanaged", "Disabled"), field{name: "provisioningBridge", kind: text}, field{name: "provisioningMACAddress", kind: text}.withCheck(isMAC),
	field{name: "provisioningNetworkInterface", kind: text}, field{name: "provisioningNetworkCIDR", kind: text}.withCheck(isSubnet), field{name: "provisioningDHCPRange", kind: text},
	objectsField("hosts",
		field{name: "name", kind: text}.asRequired(),
		field{name: "role", kind: text}, groupField("bmc", field{name: "username", kind: text}, field{name: "password", kind: text}, field{name: "address", kind: text}, field{name: "disableCertificateVerification", kind: boolean}),
		field{name: "bootMACAddress", kind: text}.withCheck(isMAC), oneOf("bootMode", "UEFI", "UEFISecureBoot", "legacy"),
		field{name: "hardwareProfile", kind: text}, rootDeviceHints, field{name: "networkConfig", kind: anything},
	),
	field{name: "defaultMachinePlatform", kind: anything},
	field{name: "apiVIPs", kind: list, items: &field{kind: text, check: isAddress}}, field{name: "ingressVIPs", kind: list, items: &field{kind: text, check: isAddress}},
	field{name: "apiVIP", kind: text}.withCheck(isAddress), field{name: "ingressVIP", kind: text}.withCheck(isAddress),
	field{name: "bootstrapOSImage", kind: text}, field{name: "clusterOSImage", kind: text},
	field{name: "bootstrapExternalStaticIP", kind: text}.withCheck(isAddress), field{name: "bootstrapExternalStaticGateway", kind: text}.withCheck(isAddress), field{name: "bootstrapExternalStaticDNS", kind: text}.withCheck(isAddress),
	groupField("loadBalancer", oneOf("type", "OpenShiftManagedDefault", "UserManaged")), textsField("additionalNTPServers"),
)

// platforms are the installer's: those that virtual machines of one's own are installed as with their fields, the clouds by name.
var platforms = groupField("platform",
	groupField("none"), bareMetal,
	groupField("external", field{name: "platformName", kind: text}, oneOf("cloudControllerManager", "External", "")),
	field{name: "aws", kind: anything}, field{name: "azure", kind: anything}, field{name: "gcp", kind: anything}, field{name: "ibmcloud", kind: anything},
	field{name: "nutanix", kind: anything}, field{name: "openstack", kind: anything}, field{name: "ovirt", kind: anything}, field{name: "powervs", kind: anything}, field{name: "vsphere", kind: anything},
).withCheck(func(v any) error {
	written := 0
	m, _ := v.(map[string]any)
	for _, platform := range m {
		if platform != nil {
			written++
		}
	}
	if written != 1 {
		return errors.New("write one platform, such as none = {}")
	}
	return nil
})

var mirrored = []field{{name: "source", kind: text, required: true}, textsField("mirrors")}

var installConfig = groupField("",
	oneOf("apiVersion", "v1").asRequired(),
	field{name: "baseDomain", kind: text}.withCheck(isName).asRequired(),
	groupField("metadata", field{name: "name", kind: text}.withCheck(isName).asRequired()).asRequired(),
	machinePool("controlPlane"),
	field{name: "arbiter", kind: object, fields: machinePool("").fields},
	field{name: "compute", kind: list, items: &field{kind: object, fields: machinePool("").fields}},
	groupField("networking",
		field{name: "networkType", kind: text},
		objectsField("machineNetwork", field{name: "cidr", kind: text}.withCheck(isSubnet).asRequired()),
		objectsField("clusterNetwork", field{name: "cidr", kind: text}.withCheck(isSubnet).asRequired(), field{name: "hostPrefix", kind: number}),
		field{name: "serviceNetwork", kind: list, items: &field{kind: text, check: isSubnet}},
		field{name: "clusterNetworkMTU", kind: number}, field{name: "ovnKubernetesConfig", kind: anything},
	),
	platforms.asRequired(),
	oneOf("publish", "External", "Internal", "Mixed"), field{name: "operatorPublishingStrategy", kind: anything},
	groupField("proxy", field{name: "httpProxy", kind: text}, field{name: "httpsProxy", kind: text}, field{name: "noProxy", kind: text}),
	objectsField("imageDigestSources", append(slices.Clone(mirrored), field{name: "sourcePolicy", kind: text})...), objectsField("imageContentSources", mirrored...),
	groupField("bootstrapInPlace", field{name: "installationDisk", kind: text}),
	groupField("capabilities", field{name: "baselineCapabilitySet", kind: text}, textsField("additionalEnabledCapabilities")),
	oneOf("credentialsMode", "Mint", "Passthrough", "Manual"), oneOf("cpuPartitioningMode", "None", "AllNodes"),
	field{name: "fips", kind: boolean}, field{name: "featureSet", kind: text}, textsField("featureGates"),
	field{name: "additionalTrustBundle", kind: text}, oneOf("additionalTrustBundlePolicy", "Proxyonly", "Always"),
	field{name: "pullSecret", kind: text}.withCheck(isPullSecret).asRequired(),
	field{name: "sshKey", kind: text}.withCheck(isPublicKeys),
)

// InstallConfig renders install-config.yaml. The document has the installer's own field names; apiVersion, and the names of the
// machine pools, may be left out.
func InstallConfig(document map[string]any) (string, []service.Problem) {
	document = withField(document, "apiVersion", "v1")
	if cp, ok := document["controlPlane"].(map[string]any); ok {
		document["controlPlane"] = withField(cp, "name", "master")
	}
	if compute, ok := document["compute"].([]any); ok {
		named := slices.Clone(compute)
		for i, p := range named {
			if p, ok := p.(map[string]any); ok {
				named[i] = withField(p, "name", "worker")
			}
		}
		document["compute"] = named
	}
	return finishDocument(installConfig, document, checkInstall)
}

// checkInstall looks at what concerns several fields.
func checkInstall(d map[string]any) []service.Problem {
	var problems []service.Problem
	report := func(format string, args []any, at ...any) {
		problems = append(problems, service.Problemf(at, "Invalid document", format, args...))
	}
	replicas, written := valueAt(d, "controlPlane", "replicas").(int64)
	if written && !slices.Contains([]int64{1, 2, 3, 4, 5}, replicas) {
		report("a control plane has 1 to 5 machines, not %d", []any{replicas}, "controlPlane", "replicas")
	}
	if d["bootstrapInPlace"] != nil && replicas != 1 {
		report("it is for a cluster of one machine: write controlPlane.replicas = 1, or leave it out", nil, "bootstrapInPlace")
	}
	problems = append(problems, checkNetworks(d)...)
	return append(problems, checkVIPs(d)...)
}

// subnet is one of the document's, with its place.
type subnet struct {
	prefix netip.Prefix
	place  []any
}

func subnetsOf(d map[string]any) (machines, others []subnet) {
	add := func(to *[]subnet, v any, place ...any) {
		s, _ := v.(string)
		if p, err := netip.ParsePrefix(s); err == nil {
			*to = append(*to, subnet{p, place})
		}
	}
	for i, v := range asElements(valueAt(d, "networking", "machineNetwork")) {
		add(&machines, valueAt(v, "cidr"), "networking", "machineNetwork", i, "cidr")
	}
	for i, v := range asElements(valueAt(d, "networking", "clusterNetwork")) {
		add(&others, valueAt(v, "cidr"), "networking", "clusterNetwork", i, "cidr")
	}
	for i, v := range asElements(valueAt(d, "networking", "serviceNetwork")) {
		add(&others, v, "networking", "serviceNetwork", i)
	}
	return machines, others
}

// checkNetworks finds subnets that overlap, and pod networks that have no room for the machines.
func checkNetworks(d map[string]any) []service.Problem {
	var problems []service.Problem
	machines, others := subnetsOf(d)
	all := slices.Concat(machines, others)
	for i, s := range all {
		for _, before := range all[:i] {
			if s.prefix.Overlaps(before.prefix) {
				problems = append(problems, service.Problemf(s.place, "Invalid document", "%s overlaps %s, which %s has: the installer refuses that", s.prefix, before.prefix, PlaceOf(service.Problem{Path: before.place})))
			}
		}
	}
	count := int64(0)
	for _, p := range slices.Concat([]any{d["controlPlane"]}, asElements(d["compute"])) {
		n, _ := valueAt(p, "replicas").(int64)
		count += n
	}
	for i, n := range asElements(valueAt(d, "networking", "clusterNetwork")) {
		cidr, _ := valueAt(n, "cidr").(string)
		prefix, err := netip.ParsePrefix(cidr)
		bits, written := valueAt(n, "hostPrefix").(int64)
		if err != nil || !written {
			continue
		}
		place := []any{"networking", "clusterNetwork", i, "hostPrefix"}
		switch room := bits - int64(prefix.Bits()); {
		case room < 0 || bits > int64(prefix.Addr().BitLen()):
			problems = append(problems, service.Problemf(place, "Invalid document", "a /%d is no part of %s: write %d to %d", bits, prefix, prefix.Bits(), prefix.Addr().BitLen()))
		case room < 31 && count > 1<<room:
			problems = append(problems, service.Problemf(place, "Invalid document", "%s has %d subnets of /%d, and there are %d machines: write a longer prefix, or a wider cidr", prefix, 1<<room, bits, count))
		}
	}
	return problems
}

// checkVIPs finds virtual addresses outside the machines' networks.
func checkVIPs(d map[string]any) []service.Problem {
	var problems []service.Problem
	machines, _ := subnetsOf(d)
	for _, name := range []string{"apiVIPs", "ingressVIPs"} {
		for i, v := range asElements(valueAt(d, "platform", "baremetal", name)) {
			s, _ := v.(string)
			a, err := netip.ParseAddr(s)
			inside := slices.ContainsFunc(machines, func(m subnet) bool { return m.prefix.Contains(a) })
			if err == nil && len(machines) > 0 && !inside {
				problems = append(problems, service.Problemf([]any{"platform", "baremetal", name, i}, "Invalid document", "%s is in none of the machineNetwork's subnets", a))
			}
		}
	}
	return problems
}

var agentConfig = groupField("",
	oneOf("apiVersion", "v1beta1", "v1alpha1").asRequired(),
	oneOf("kind", "AgentConfig").asRequired(),
	groupField("metadata", field{name: "name", kind: text}.withCheck(isName)),
	field{name: "rendezvousIP", kind: text}.withCheck(isAddress),
	textsField("additionalNTPSources"),
	field{name: "bootArtifactsBaseURL", kind: text},
	field{name: "minimalISO", kind: boolean},
	objectsField("hosts",
		field{name: "hostname", kind: text}.withCheck(isHostname),
		oneOf("role", "master", "arbiter", "worker"),
		rootDeviceHints,
		objectsField("interfaces", field{name: "name", kind: text}.asRequired(), field{name: "macAddress", kind: text}.withCheck(isMAC).asRequired()),
		field{name: "bmc", kind: anything},
		// nmstate's own language.
		field{name: "networkConfig", kind: anything},
	),
)

// AgentConfig renders the agent-config.yaml of OpenShift's agent-based installer. apiVersion and kind may be left out.
func AgentConfig(document map[string]any) (string, []service.Problem) {
	document = withField(withField(document, "apiVersion", "v1beta1"), "kind", "AgentConfig")
	return finishDocument(agentConfig, document, checkAgent)
}

// checkAgent finds machines that are named twice, and a cluster that nobody can meet for.
func checkAgent(d map[string]any) []service.Problem {
	var problems []service.Problem
	seen := map[string]string{}
	once := func(value any, what string, path ...any) {
		s, _ := value.(string)
		if mac, err := alloc.CanonicalMAC(s); err == nil {
			s = mac
		}
		if s == "" {
			return
		}
		place := PlaceOf(service.Problem{Path: path})
		if before, twice := seen[what+s]; twice {
			problems = append(problems, service.Problemf(path, "Invalid document", "%s has %s %q too: each machine has its own", before, what, s))
		}
		seen[what+s] = place
	}
	static := false
	for i, h := range asElements(d["hosts"]) {
		once(valueAt(h, "hostname"), "the host name", "hosts", i, "hostname")
		for j, n := range asElements(valueAt(h, "interfaces")) {
			once(valueAt(n, "macAddress"), "the MAC address", "hosts", i, "interfaces", j, "macAddress")
		}
		static = static || valueAt(h, "networkConfig") != nil
	}
	if d["rendezvousIP"] == nil && !static {
		problems = append(problems, service.Problemf([]any{"rendezvousIP"}, "Invalid document", "write the address of the machine that the others meet at: no host has a networkConfig to take it from"))
	}
	return problems
}
