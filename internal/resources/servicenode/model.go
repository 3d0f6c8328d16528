package servicenode

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
)

var (
	idPath       = path.Root("id")
	servicesPath = path.Root("services")
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
func (m *model) services(ctx context.Context) ([]string, diag.Diagnostics) {
	var names []string
	if m.Services.IsNull() || m.Services.IsUnknown() {
		return nil, nil
	}
	diags := m.Services.ElementsAs(ctx, &names, false)
	slices.Sort(names)
	return names, diags
}

// name is how messages call the machine.
func (m *model) name() string {
	e, err := host.ParseEndpoint(m.Endpoint.ValueString())
	if err != nil {
		return m.Endpoint.ValueString()
	}
	return e.Machine()
}

// identify fills in what follows from the id.
func (m *model) identify(id string) error {
	e, err := host.ParseEndpoint(id)
	if err != nil {
		return err
	}
	m.ID = types.StringValue(id)
	fingerprint := e.HostKey
	e.HostKey = ""
	if m.Endpoint.IsNull() {
		m.Endpoint = types.StringValue(e.String())
	}
	switch {
	case fingerprint == "":
		m.HostKey = types.StringNull()
	case m.HostKey.IsNull() || m.HostKey.IsUnknown():
		m.HostKey = types.StringValue(fingerprint)
	}
	return nil
}

// fill writes what the machine has: of the services that are wanted, those that it runs. After an import
// nothing is wanted yet, and all count.
func (m *model) fill(ctx context.Context, inv provision.Inventory) diag.Diagnostics {
	wanted, diags := m.services(ctx)
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
	var d diag.Diagnostics
	m.OS = types.StringValue(inv.OS)
	m.Services, d = types.SetValueFrom(ctx, types.StringType, running)
	diags.Append(d...)
	m.Versions, d = types.MapValueFrom(ctx, types.StringType, versions)
	diags.Append(d...)
	return diags
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
	if e.Scheme != host.SSH {
		return e.String(), true
	}
	if hostKey != "" {
		if e.HostKey, err = sshhost.Fingerprint(hostKey); err != nil {
			return "", false
		}
	}
	return e.String(), e.HostKey != ""
}
