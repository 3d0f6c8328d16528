package bootprofile

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan/ledger"
)

func TestAMachineGetsOneConfiguration(t *testing.T) {
	t.Parallel()
	const butane = "variant: fcos\nversion: 1.5.0\n"
	cloudInit := types.ObjectValueMust(cloudInitTypes, map[string]attr.Value{"user_data": types.StringValue("#cloud-config\n"), "meta_data": types.StringNull()})
	for name, c := range map[string]struct {
		m          model
		kind, file string
		says       string
	}{
		"none":                {model{}, "", "", ""},
		"Ignition":            {model{Ignition: types.StringValue(`{"ignition":{"version":"3.4.0"}}`)}, "ignition", `{"ignition":{"version":"3.4.0"}}`, ""},
		"Butane":              {model{Butane: types.StringValue(butane)}, "ignition", `{"ignition":{"version":"3.4.0"}}`, ""},
		"Butane as Ignition":  {model{Ignition: types.StringValue(butane)}, "", "", "written as butane"},
		"Ignition of nothing": {model{Ignition: types.StringValue("{}")}, "", "", "write the JSON that Ignition reads"},
		"cloud-init":          {model{CloudInit: cloudInit}, "cloud_init", "#cloud-config\n", ""},
		"kickstart":           {model{Kickstart: types.StringValue("text\n")}, "kickstart", "text\n", ""},
		"Talos":               {model{Talos: types.StringValue("version: v1alpha1\n")}, "talos", "version: v1alpha1\n", ""},
		"two of them":         {model{Kickstart: types.StringValue("text\n"), Talos: types.StringValue("version: v1alpha1\n")}, "", "", "a machine gets one of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.m.Name = types.StringValue("worker-1")
			p, diags := c.m.toSpec(t.Context())
			said := ""
			for _, d := range diags {
				said += d.Detail()
			}
			if diags.HasError() != (c.says != "") || !strings.Contains(said, c.says) {
				t.Fatalf("it says %q, want %q", said, c.says)
			}
			if c.says != "" {
				return
			}
			found := c.file == ""
			for _, text := range p.Files {
				found = found || strings.TrimSpace(text) == strings.TrimSpace(c.file)
			}
			if p.Kind != c.kind || !found {
				t.Errorf("it is %s with %q", p.Kind, p.Files)
			}
			imported := model{Name: c.m.Name}
			if diags := imported.fillModel(t.Context(), p); diags.HasError() || imported.Butane != c.m.Butane || imported.Ignition != c.m.Ignition {
				t.Errorf("%v: an import has %s and %s", diags, imported.Butane, imported.Ignition)
			}
		})
	}
}

// TestAProfileIsOfANodeOrAMachine has what the server keeps read back as the profile that it was made of.
func TestAProfileIsOfANodeOrAMachine(t *testing.T) {
	t.Parallel()
	const mac = "52:54:00:aa:00:01"
	for name, m := range map[string]model{
		"a MAC address": {MAC: types.StringValue(mac)},
		"a node":        {MAC: types.StringValue(mac), Node: types.StringValue("worker-1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, diags := m.toSpec(t.Context())
			var imported model
			diags.Append(imported.fillModel(t.Context(), p)...)
			if diags.HasError() || !imported.MAC.Equal(m.MAC) || !imported.Node.Equal(m.Node) {
				t.Errorf("%v: an import has %s of node %s", diags, imported.MAC, imported.Node)
			}
			kinds := map[plan.Kind]string{}
			for _, u := range p.Uses() {
				kinds[u.Kind] = u.Value
			}
			if kinds[plan.BootedMachine] != mac || kinds[plan.BootedNode] != m.Node.ValueString() {
				t.Errorf("it uses %v", kinds)
			}
		})
	}
}

func TestWhatThePlanServesIsNotAskedFor(t *testing.T) {
	t.Parallel()
	planned := &ledger.Ledger{}
	for _, url := range []string{"http://10.0.0.1:8080/kernel", "http://10.0.0.1:8080/tree"} {
		planned.Register(plan.Holder{ID: url}, []plan.Use{{Verb: plan.Gives, Kind: plan.ServedURL, Value: url}})
	}
	for url, want := range map[string]bool{
		"http://10.0.0.1:8080/kernel": true, "http://10.0.0.1:8080/tree/a/initrd": true, "http://10.0.0.1:8080/kernel2": false, "http://10.0.0.2:8080/kernel": false,
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			if isServed(planned, url) != want {
				t.Errorf("want %t", want)
			}
		})
	}
}
