package provider

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Texts could be empty once, and one that is left out now must not make its resource anew.
func TestEmptyHypervisorsInStatesOfTheVersionBeforeAreNone(t *testing.T) {
	server := Server("test")
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"node", "network", "volume", "image", "storage_pool", "dhcp_reservation", "external_bridge"} {
		for text, none := range map[string]bool{`{"id": "x", "hypervisor": ""}`: true, `{"id": "x", "hypervisor": "other"}`: false} {
			resp, err := server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{
				TypeName: "virtcluster_" + name, Version: 0, RawState: &tfprotov6.RawState{JSON: []byte(text)},
			})
			if err != nil || len(resp.Diagnostics) > 0 {
				t.Errorf("%s: %v %v", name, err, resp.Diagnostics)
				continue
			}
			v, err := resp.UpgradedState.Unmarshal(schemas.ResourceSchemas["virtcluster_"+name].ValueType())
			var all map[string]tftypes.Value
			if err == nil {
				err = v.As(&all)
			}
			if err != nil || all["hypervisor"].IsNull() != none {
				t.Errorf("%s: hypervisor is %s, %v", name, all["hypervisor"], err)
			}
		}
	}
}

// States of the version before carry all of a host key's fingerprint, in percent codes.
func TestReferencesInStatesOfTheVersionBeforeBecomeShort(t *testing.T) {
	const long = "ssh://root@a?host_key=SHA256%3AuNi%2BztksCsDhcc0%2F9e8BrrQXVUpKZIDTMczCvj3tD2s"
	const short = "ssh://root@a?host_key=uNi-ztksCsDhcc0_"
	server := Server("test")
	for _, name := range []string{
		"dns_server", "dns_view", "dns_zone", "dns_record_set", "haproxy", "haproxy_backend", "haproxy_frontend", "hosts_file", "external_bridge", "route", "service_node", "vip",
		"address_pool", "address",
	} {
		place := "service_node"
		if name == "hosts_file" || name == "external_bridge" || name == "route" {
			place = "host"
		}
		stored := `{"id": "` + long + `#x", "` + place + `": "` + long + `"}`
		if name == "address" {
			stored = `{"id": "` + long + `#x/y", "pool": "` + long + `#x"}`
		}
		if name == "service_node" {
			stored = `{"id": "` + long + `", "endpoint": "ssh://root@a"}`
		}
		if name == "vip" {
			stored = `{"id": "` + long + `#x", "name": "x", "addresses": [], "owner": "` + long + `", "members": [{"service_node": "` + long + `", "interface": "eth0", "address": null, "priority": 250, "state": null}]}`
		}
		resp, err := server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{
			TypeName: "virtcluster_" + name, Version: 0, RawState: &tfprotov6.RawState{JSON: []byte(stored)},
		})
		if err != nil || len(resp.Diagnostics) > 0 {
			t.Errorf("%s: %v %v", name, err, resp.Diagnostics)
			continue
		}
		if got := string(resp.UpgradedState.MsgPack); strings.Contains(got, "SHA256") || !strings.Contains(got, short) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
