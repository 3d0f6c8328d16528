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

// serviceNames are the names in order; null and unknown are none.
func (m *model) serviceNames() []string {
	names := convert.KnownTexts(m.Services)
	slices.Sort(names)
	return names
}

// displayName is how messages call the machine.
func (m *model) displayName() string {
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

func (m *model) toSpec() machine {
	return machine{Services: m.serviceNames(), Install: m.InstallPackages.ValueBool()}
}

// fillModel writes what the machine has: of the services that are wanted, those that it runs. After an import
// nothing is wanted yet, and all count.
func (m *model) fillModel(got machine) {
	m.fillIdentity(got.Endpoint)
	if m.InstallPackages.IsNull() { // an import
		m.InstallPackages = types.BoolValue(got.Inventory == nil || got.Inventory.Record.Installs())
	}
	if got.Inventory == nil {
		m.OS, m.Versions = types.StringValue(""), types.MapNull(types.StringType)
		return
	}
	inv := *got.Inventory
	wanted := m.serviceNames()
	if m.Services.IsNull() {
		wanted = importedServices(inv)
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

// fillIdentity fills in what follows from the endpoint with its host key.
func (m *model) fillIdentity(e host.Endpoint) {
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

// importedServices are the services that were prepared on the machine, or else all that it runs.
func importedServices(inv provision.Inventory) []string {
	if len(inv.Record.Before) > 0 {
		return slices.Sorted(maps.Keys(inv.Record.Before))
	}
	return slices.DeleteFunc(provision.Names(), func(name string) bool { return !inv.Has(name) })
}

// formatID is the id that an endpoint and a host key make; known is false where only the machine can tell.
func formatID(endpoint, hostKey string) (id string, known bool) {
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
