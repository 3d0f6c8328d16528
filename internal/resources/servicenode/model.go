package servicenode

import (
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
)

type model struct {
	ID              types.String   `tfsdk:"id"`
	Endpoint        types.String   `tfsdk:"endpoint"`
	Services        types.Set      `tfsdk:"services"`
	InstallPackages types.Bool     `tfsdk:"install_packages"`
	HostKey         types.String   `tfsdk:"host_key"`
	OS              types.String   `tfsdk:"os"`
	Versions        types.Map      `tfsdk:"versions"`
	Timeouts        timeouts.Value `tfsdk:"timeouts"`
}

// services are the names in order; null and unknown are none.
func (m *model) services() []string {
	names := convert.KnownTexts(m.Services)
	slices.Sort(names)
	return names
}

// name is how messages call the machine.
func (m *model) name() string {
	text := m.Endpoint.ValueString()
	if text == "" {
		text = m.ID.ValueString() // an import, before the first read
	}
	e, err := host.ParseEndpoint(text)
	if err != nil {
		return text
	}
	return e.Machine()
}

func (m *model) spec() provision.Machine {
	return provision.Machine{Services: m.services(), Install: m.InstallPackages.ValueBool()}
}

// fill writes what the machine has: of the services that are wanted, those that it runs. After an import
// nothing is wanted yet, and all count.
func (m *model) fill(got provision.Machine) {
	m.identify(got.Endpoint)
	if m.InstallPackages.IsNull() { // an import
		m.InstallPackages = types.BoolValue(got.Inventory == nil || got.Inventory.Record.Installs())
	}
	if got.Inventory == nil {
		m.OS, m.Versions = types.StringValue(""), types.MapNull(types.StringType)
		return
	}
	inv := *got.Inventory
	wanted := m.services()
	if m.Services.IsNull() {
		wanted = imported(inv)
	}
	running := []string{}
	versions := map[string]string{}
	for _, name := range wanted {
		if inv.Has(name) {
			running = append(running, name)
			versions[name] = inv.Versions[name]
		}
	}
	m.OS = types.StringValue(inv.OS)
	m.Services, m.Versions = types.SetValueMust(types.StringType, convert.Elements(running)), convert.Map(versions)
}

// identify fills in what follows from the endpoint with its host key.
func (m *model) identify(e host.Endpoint) {
	m.ID = types.StringValue(e.Reference())
	switch {
	case e.HostKey == "":
		m.HostKey = types.StringNull()
	case !convert.Known(m.HostKey):
		m.HostKey = types.StringValue(e.HostKey.String())
	}
	if m.Endpoint.IsNull() {
		e.HostKey = ""
		m.Endpoint = types.StringValue(e.String())
	}
}

// imported are the services that were prepared on the machine, or else all that it runs.
func imported(inv provision.Inventory) []string {
	if len(inv.Record.Before) > 0 {
		return slices.Sorted(maps.Keys(inv.Record.Before))
	}
	return slices.DeleteFunc(provision.Names(), func(name string) bool { return !inv.Has(name) })
}

// id is the id that an endpoint and a host key make; known is false where only the machine can tell.
func id(endpoint, hostKey string) (id string, known bool) {
	e, err := host.ParseEndpoint(endpoint)
	if err != nil {
		return "", false
	}
	if hostKey != "" && e.Scheme == host.SSH {
		if e.HostKey, err = sshhost.WholePin(hostKey); err != nil {
			return "", false
		}
	}
	return e.Reference(), e.Scheme != host.SSH || e.HostKey != ""
}
