package provider_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// What is wrong whatever the machines have is refused before any of them is asked, at the attribute.
func TestWhatIsKnownToBeWrongIsRefusedAtPlan(t *testing.T) {
	t.Parallel()
	const machine = `"service_node": "ssh://root@10.0.0.100", `
	for name, c := range map[string]struct {
		kind, config string
		at, says     string
	}{
		"end of a range":                {"network", `{"name": "n", "cidr": "10.0.0.0/24", "dhcp": {"ranges": [{"start": "10.0.0.9", "end": ""}]}}`, "dhcp", "write an address"},
		"a server that is none":         {"network", `{"name": "n", "cidr": "10.0.0.0/24", "pxe": {"server": "a;"}}`, "pxe", "pxe.server: write an"},
		"unknown hypervisor":            {"dhcp_reservation", `{"network": "n", "mac": "52:54:00:aa:6c:01", "ip": "10.0.0.9", "hypervisor": "nowhere"}`, "hypervisor", `no hypervisor "nowhere"`},
		"empty hypervisor":              {"node", `{"name": "n", "hypervisor": ""}`, "hypervisor", "leave it out"},
		"too many vCPUs":                {"node", `{"name": "n", "vcpus": 2000}`, "vcpus", "from 1 to 1024"},
		"a log of no console":           {"node", `{"name": "n", "console": {"type": "none", "log_file": "/l"}}`, "console", "leave out log_file"},
		"a card in capitals":            {"node", `{"name": "n", "network_interfaces": [{"network": "n", "model": "VIRTIO"}]}`, "network_interfaces", "in small letters"},
		"a null disk":                   {"node", `{"name": "n", "disks": {"d": null}}`, "disks", "must not be null"},
		"a null interface":              {"node", `{"name": "n", "network_interfaces": [null]}`, "network_interfaces", "must not be null"},
		"a time of HAProxy":             {"haproxy", `{` + machine + `"timeouts": {"client": "25d"}}`, "timeouts", "longer than HAProxy's longest time"},
		"a backend's":                   {"haproxy_backend", `{` + machine + `"name": "b", "timeouts": {"server": "2147483648"}}`, "timeouts", "longer than HAProxy's longest time"},
		"a server's":                    {"haproxy_backend", `{` + machine + `"name": "b", "servers": {"a": {"address": "10.0.0.1", "port": 80, "inter": "25d"}}}`, "servers", "longer than HAProxy's longest time"},
		"a check by TLS without verify": {"haproxy_backend", `{` + machine + `"name": "b", "default_server": {"check_ssl": true}, "servers": {"a": {"address": "10.0.0.1", "port": 80}}}`, "servers", "No CA to verify by"},
		"TLS verified by no CA":         {"haproxy_backend", `{` + machine + `"name": "b", "servers": {"a": {"address": "10.0.0.1", "port": 80, "verify": "required", "options": ["ssl"]}}}`, "servers", "No CA to verify by"},
		"a rule by no ACL":              {"haproxy_frontend", `{` + machine + `"name": "f", "binds": [{"address": "10.0.0.250", "port": 80}], "rules": [{"backend": "b", "if": "nosuch"}]}`, "rules", "nothing defines the ACL \"nosuch\""},
		"a pool that is none":           {"exposed_service", `{` + machine + `"name": "e", "type": "load_balancer", "pool": "lan", "ports": {"p": {"port": 80}}, "targets": ["10.0.0.1"]}`, "pool", "write the id of a virtcluster_address_pool"},
		"an odd device":                 {"exposed_service", `{` + machine + `"name": "e", "type": "load_balancer", "interface": "a;", "address": "10.0.0.9", "ports": {"p": {"port": 80}}, "targets": ["10.0.0.1"]}`, "interface", "write the name of a network device"},
		"an odd device of a member":     {"vip", `{"name": "v", "addresses": ["10.0.0.9/24"], "members": {"a": {"service_node": "ssh://root@a", "interface": "%s"}}}`, "members", "write the name of a network device"},
		"a name server that is no host": {"dns_zone", `{` + machine + `"view": "v", "name": "z.example", "name_servers": ["{}"]}`, "name_servers", "check-names"},
		"gratuitous ARP never sent":     {"vip", `{"name": "v", "addresses": ["10.0.0.9/24"], "members": {"a": {"service_node": "ssh://root@a", "interface": "eth0"}}, "garp": {"master_repeat": 0}}`, "garp", "from 1 to"},
		"an empty view":                 {"dns_view", `{` + machine + `"name": ""}`, "name", "Empty text"},
		"no name servers":               {"dns_zone", `{` + machine + `"view": "v", "name": "z.example", "name_servers": []}`, "name_servers", "write at least one element"},
		"an empty pointer":              {"dns_zone", `{` + machine + `"view": "v", "cidr": "10.1.1.0/24", "pointers": {"10.1.1.1": ""}}`, "pointers", "Empty text"},
		"a wildcard zone":               {"dns_zone", `{` + machine + `"view": "v", "name": "*.z"}`, "name", `"*.z"`},
		"an empty type":                 {"dns_record_set", `{` + machine + `"zone": "z.example", "name": "a", "type": "", "values": ["10.0.0.1"]}`, "type", "Empty text"},
		"an empty zone":                 {"dns_record_set", `{` + machine + `"zone": "", "name": "a", "type": "A", "values": ["10.0.0.1"]}`, "zone", "Empty text"},
		"an empty destination":          {"route", `{"host": "ssh://root@a", "cidr": "", "via": "10.0.0.1"}`, "cidr", "Empty text"},
		"a size that overflows":         {"volume", `{"name": "v", "pool": "p", "size_gib": 17179869185}`, "size_gib", "not 17179869185"},
		"more than QEMU can map":        {"volume", `{"name": "v", "pool": "p", "size_gib": 2097153}`, "size_gib", "from 1 to 2097152, not 2097153"},
		"a root disk that is too big":   {"node", `{"name": "n", "root_disk": {"size_gib": 2147483648}}`, "root_disk", "from 1 to 2097152, not 2147483648"},
		"a disk that is too big":        {"node", `{"name": "n", "disks": {"d": {"size_gib": 9007199254740993}}}`, "disks", "from 1 to 2097152"},
		"memory that overflows":         {"node", `{"name": "n", "memory_mib": 9223372036854775807}`, "memory_mib", "from 16 to"},
		"nothing in a bridge":           {"external_bridge", `{"name": "b", "host": "ssh://root@a", "interfaces": []}`, "interfaces", "write at least one"},
		"a member without a name":       {"vip", `{"name": "v", "addresses": ["10.0.0.9/24"], "members": {"": {"service_node": "ssh://root@a", "interface": "eth0"}}}`, "members", "write a name of a member"},
		"a bridge on no machine":        {"external_bridge", `{"name": "b", "host": "nowhere", "interfaces": [{"interface": "eth1"}]}`, "host", "ssh://"},
		"a length of no prefix":         {"network", `{"name": "n", "cidr": "10.0.0.0/33"}`, "cidr", "write an address with the length of its network's prefix"},
		"a gateway with a length":       {"network", `{"name": "n", "cidr": "10.0.0.0/24", "gateway": "10.0.0.1/24"}`, "gateway", "write an address"},
		"a route with a bad length":     {"network", `{"name": "n", "cidr": "10.0.0.0/24", "routes": [{"cidr": "10.0.0.0/99", "via": "10.0.0.2"}]}`, "routes", "write an address with the length of its network's prefix"},
		"a null among name servers":     {"resolver", `{"host": "ssh://root@a", "nameservers": [null]}`, "nameservers", "must not be null"},
		"an empty address":              {"interface", `{"host": "ssh://root@a", "name": "eth1", "addresses": [""]}`, "addresses", "address with a prefix length"},
		"a record set without a name":   {"dns_record_set", `{` + machine + `"zone": "z.example", "name": "", "type": "A", "values": ["10.0.0.1"]}`, "name", "Empty text"},
		"an operation without a time":   {"node", `{"name": "n", "timeouts": {"create": "0s"}}`, "timeouts", "create"},
	} {
		t.Run(name, func(t *testing.T) {
			all := refusals(t, "virtcluster_"+c.kind, c.config)
			for _, d := range all {
				if strings.Contains(placeOf(d), `"`+c.at+`"`) && strings.Contains(d.Summary+": "+d.Detail, c.says) {
					return
				}
			}
			t.Errorf("want %q at %s, not %v", c.says, c.at, texts(all))
		})
	}
}

// refusals are the errors of a configuration in JSON, of its check or else of a plan to create it.
func refusals(t *testing.T, kind, config string) []*tfprotov6.Diagnostic {
	t.Helper()
	server := provider.Server("test")
	configure(t, server, `{"uri": "test:///nothing"}`)
	all := refusalsBy(t, server, kind, config, new([]byte))
	for _, d := range all {
		// The summary is a line of its own, so it begins with a capital.
		if fault := acctest.FaultOf(d.Summary + "\n" + d.Detail); fault != "" {
			t.Errorf("%s:\n%s: %s", fault, d.Summary, d.Detail)
		}
	}
	return all
}

// refusalsBy is refusals of a server that has planned other resources of the same plan before. private is what a plan of the same
// resource returned, and what this one returns.
func refusalsBy(t *testing.T, server tfprotov6.ProviderServer, kind, config string, private *[]byte) []*tfprotov6.Diagnostic {
	t.Helper()
	of := schemas(t).ResourceSchemas[kind].ValueType()
	value, err := tftypes.ValueFromJSONWithOpts([]byte(config), of, tftypes.ValueFromJSONOpts{})
	if err != nil {
		t.Fatal(err)
	}
	written, err := tfprotov6.NewDynamicValue(of, value)
	if err != nil {
		t.Fatal(err)
	}
	none, err := tfprotov6.NewDynamicValue(of, tftypes.NewValue(of, nil))
	if err != nil {
		t.Fatal(err)
	}
	valid, err := server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: kind, Config: &written})
	if err != nil {
		t.Fatal(err)
	}
	if all := onlyErrors(valid.Diagnostics); len(all) > 0 {
		return all
	}
	planned, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: kind, PriorState: &none, ProposedNewState: &written, Config: &written, PriorPrivate: *private})
	if err != nil {
		t.Fatal(err)
	}
	*private = planned.PlannedPrivate
	return onlyErrors(planned.Diagnostics)
}

func placeOf(d *tfprotov6.Diagnostic) string {
	if d.Attribute == nil {
		return ""
	}
	return d.Attribute.String()
}

func onlyErrors(all []*tfprotov6.Diagnostic) (errs []*tfprotov6.Diagnostic) {
	for _, d := range all {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			errs = append(errs, d)
		}
	}
	return errs
}

func texts(all []*tfprotov6.Diagnostic) (texts []string) {
	for _, d := range all {
		texts = append(texts, placeOf(d)+" "+d.Summary+": "+d.Detail)
	}
	return texts
}

// configure checks and applies the provider's own configuration, and returns what it says.
func configure(t *testing.T, server tfprotov6.ProviderServer, config string) []*tfprotov6.Diagnostic {
	t.Helper()
	of := schemas(t).Provider.ValueType()
	value, err := tftypes.ValueFromJSONWithOpts([]byte(config), of, tftypes.ValueFromJSONOpts{})
	if err != nil {
		t.Fatal(err)
	}
	written, err := tfprotov6.NewDynamicValue(of, value)
	if err != nil {
		t.Fatal(err)
	}
	valid, err := server.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: &written})
	if err != nil {
		t.Fatal(err)
	}
	if len(onlyErrors(valid.Diagnostics)) > 0 {
		return valid.Diagnostics
	}
	done, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.14.0", Config: &written})
	if err != nil {
		t.Fatal(err)
	}
	return append(valid.Diagnostics, done.Diagnostics...)
}

func TestTheProvidersOwnConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config, at, says string
		severity         tfprotov6.DiagnosticSeverity
	}{
		"a jump of two words":      {`{"ssh": {"proxy_jump": "a b"}}`, "proxy_jump", "write [user@]host[:port]", tfprotov6.DiagnosticSeverityError},
		"what is no key":           {`{"ssh": {"private_key": "x"}}`, "private_key", "No private key", tfprotov6.DiagnosticSeverityError},
		"a file that is no key":    {`{"ssh": {"private_key_file": "/etc/hosts"}}`, "private_key_file", "No private key", tfprotov6.DiagnosticSeverityError},
		"a file that is missing":   {`{"ssh": {"private_key_file": "/nowhere/key"}}`, "private_key_file", `there is no file "/nowhere/key"`, tfprotov6.DiagnosticSeverityWarning},
		"a hypervisor without URI": {`{"hypervisors": {"a": {"uri": ""}}}`, "hypervisors", "Empty text", tfprotov6.DiagnosticSeverityError},
	} {
		t.Run(name, func(t *testing.T) {
			all := configure(t, provider.Server("test"), c.config)
			for _, d := range all {
				if d.Severity == c.severity && strings.Contains(placeOf(d), `"`+c.at+`"`) && strings.Contains(d.Summary+": "+d.Detail, c.says) {
					return
				}
			}
			t.Errorf("want %q at %s, not %v", c.says, c.at, texts(all))
		})
	}
}
