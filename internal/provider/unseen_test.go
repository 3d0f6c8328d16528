package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// TestAPlanSaysThatAMachineCannotBeAsked has every type plan an object on a machine that does not answer: one warning, at the attribute that names
// the machine, as it may come to be in the same apply.
func TestAPlanSaysThatAMachineCannotBeAsked(t *testing.T) {
	t.Parallel()
	const node, host = `"service_node": "ssh://root@127.0.0.1:1"`, `"host": "ssh://root@127.0.0.1:1"`
	all := map[string]struct{ config, at string }{
		"address":          {`{"pool": "ssh://root@127.0.0.1:1#p", "key": "k"}`, "pool"},
		"address_pool":     {`{` + node + `, "name": "p", "ranges": ["10.0.0.1-10.0.0.9"]}`, "service_node"},
		"boot_profile":     {`{"boot_server": "ssh://root@127.0.0.1:1#boot", "name": "p", "mac": "52:54:00:aa:00:01", "kernel": "http://10.0.0.1/k"}`, "boot_server"},
		"boot_server":      {`{` + node + `, "http": {"address": "10.0.0.1"}}`, "service_node"},
		"dhcp_server":      {`{` + node + `, "interface": "eth0", "cidr": "10.0.0.0/24"}`, "service_node"},
		"dns_record_set":   {`{` + node + `, "zone": "z.example", "name": "a", "type": "A", "values": ["10.0.0.1"]}`, "service_node"},
		"dns_server":       {`{` + node + `}`, "service_node"},
		"dns_view":         {`{` + node + `, "name": "v"}`, "service_node"},
		"dns_zone":         {`{` + node + `, "view": "v", "name": "z.example", "name_servers": ["ns.example.com."]}`, "service_node"},
		"exposed_service":  {`{` + node + `, "name": "e", "type": "load_balancer", "interface": "eth0", "address": "10.0.0.9", "ports": {"p": {"port": 80}}, "targets": ["10.0.0.1"]}`, "service_node"},
		"external_bridge":  {`{` + host + `, "name": "b", "interfaces": [{"interface": "eth1"}]}`, "host"},
		"floating_address": {`{` + node + `, "address": "10.0.0.9", "target": "10.0.1.1", "interface": "eth0"}`, "service_node"},
		"haproxy":          {`{` + node + `}`, "service_node"},
		"haproxy_backend":  {`{` + node + `, "name": "b", "servers": {"a": {"address": "10.0.0.1", "port": 80}}}`, "service_node"},
		"haproxy_frontend": {`{` + node + `, "name": "f", "binds": [{"port": 80}], "default_backend": "b"}`, "service_node"},
		"hosts_file":       {`{` + host + `, "name": "n", "entries": {"10.0.0.1": ["a"]}}`, "host"},
		"http_content":     {`{` + node + `, "listen": "10.0.0.1:8080", "path": "/x", "content": "x"}`, "service_node"},
		"interface":        {`{` + host + `, "name": "eth1", "addresses": ["10.0.0.1/24"]}`, "host"},
		"nfs_export":       {`{` + node + `, "path": "/srv/x", "clients": [{"match": "10.0.0.0/24"}]}`, "service_node"},
		"registry":         {`{` + node + `, "name": "r"}`, "service_node"},
		"resolver":         {`{` + host + `, "nameservers": ["10.0.0.1"]}`, "host"},
		"route":            {`{` + host + `, "cidr": "10.9.0.0/24", "via": "10.0.0.1"}`, "host"},
		"time_server":      {`{` + node + `}`, "service_node"},
	}
	known := schemas(t).ResourceSchemas
	for kind, s := range known {
		for _, a := range s.Block.Attributes {
			if _, there := all[strings.TrimPrefix(kind, "virtcluster_")]; !there && (a.Name == "service_node" || a.Name == "host" || a.Name == "boot_server") {
				t.Errorf("%s, which is on a machine by its %s, is not tried here", kind, a.Name)
			}
		}
	}
	for kind, c := range all {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := provider.Server("test")
			configure(t, server, `{"uri": "qemu+ssh://root@127.0.0.1:1/system", "ssh": {"connect_timeout": "1s"}}`)
			of := known["virtcluster_"+kind].ValueType()
			value, err := tftypes.ValueFromJSONWithOpts([]byte(c.config), of, tftypes.ValueFromJSONOpts{})
			if err != nil {
				t.Fatal(err)
			}
			written, none := dynamic(t, of, value), dynamic(t, of, tftypes.NewValue(of, nil))
			planned, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: "virtcluster_" + kind, PriorState: none, ProposedNewState: written, Config: written})
			if err != nil {
				t.Fatal(err)
			}
			said, at := planned.Diagnostics, fmt.Sprintf("AttributeName(%q)", c.at)
			if len(said) != 1 || said[0].Severity != tfprotov6.DiagnosticSeverityWarning || placeOf(said[0]) != at || !strings.HasPrefix(said[0].Summary, "Cannot look at the host of ") || !strings.Contains(said[0].Detail, "connection refused") {
				t.Errorf("it says %q, and not one warning at %s", texts(said), at)
			}
		})
	}
}
