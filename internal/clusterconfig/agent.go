package clusterconfig

import (
	"net/netip"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

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
		if a, err := netip.ParseAddr(s); err == nil {
			s = a.String()
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
