package bootprofile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/netboot"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

type model struct {
	crud.ServingModel
	ID            types.String `tfsdk:"id"`
	BootServer    types.String `tfsdk:"boot_server"`
	Standby       types.String `tfsdk:"standby"`
	Name          types.String `tfsdk:"name"`
	MAC           types.String `tfsdk:"mac"`
	Node          types.String `tfsdk:"node"`
	Kernel        types.String `tfsdk:"kernel"`
	Initrd        types.List   `tfsdk:"initrd"`
	Cmdline       types.String `tfsdk:"cmdline"`
	Ignition      types.String `tfsdk:"ignition"`
	Butane        types.String `tfsdk:"butane"`
	CloudInit     types.Object `tfsdk:"cloud_init"`
	Kickstart     types.String `tfsdk:"kickstart"`
	Talos         types.String `tfsdk:"talos"`
	Once          types.Bool   `tfsdk:"once"`
	WaitForReport types.Bool   `tfsdk:"wait_for_report"`
	Generation    types.Int64  `tfsdk:"generation"`
	Installed     types.Bool   `tfsdk:"installed"`
	LastSeen      types.String `tfsdk:"last_seen"`
	ReportURL     types.String `tfsdk:"report_url"`
}

type cloudInitModel struct {
	UserData types.String `tfsdk:"user_data"`
	MetaData types.String `tfsdk:"meta_data"`
}

var cloudInitTypes = map[string]attr.Type{"user_data": types.StringType, "meta_data": types.StringType}

func (m *model) toSpec(ctx context.Context) (netboot.Profile, diag.Diagnostics) {
	var diags diag.Diagnostics
	var p netboot.Profile
	p.Name, p.MAC, p.Kernel, p.Initrd, p.Cmdline = m.Name.ValueString(), netboot.Canonical(m.MAC.ValueString()), m.Kernel.ValueString(), convert.Texts(m.Initrd), m.Cmdline.ValueString()
	p.Once, p.Reports, p.Generation = m.Once.ValueBool(), m.WaitForReport.ValueBool(), m.Generation.ValueInt64()
	p.Standby, p.Node = m.Standby.ValueString(), m.Node.ValueString()
	if p.Standby != "" {
		p.Servers = []string{host.ShortenReferences(m.BootServer.ValueString()), host.ShortenReferences(p.Standby)}
	}
	written := 0
	set := func(attribute, kind string, files map[string]string) {
		if written++; written > 1 {
			diags.AddAttributeError(path.Root(attribute), "Two configurations", "a machine gets one of ignition, butane, cloud_init, kickstart and talos: leave the others out")
			return
		}
		p.Kind, p.Files = kind, files
	}
	if m.Ignition.ValueString() != "" {
		text, err := machine.TranslateButane(m.Ignition.ValueString())
		if err == nil && text != m.Ignition.ValueString() {
			err = errors.New("this is Butane, which is written as butane")
		}
		if err != nil {
			diags.AddAttributeError(path.Root("ignition"), "Invalid Ignition", "write the JSON that Ignition reads: "+err.Error())
		}
		set("ignition", "ignition", map[string]string{"config.ign": text})
	}
	if m.Butane.ValueString() != "" {
		text, err := machine.TranslateButane(m.Butane.ValueString())
		if err != nil {
			diags.AddAttributeError(path.Root("butane"), "Invalid Butane", err.Error())
		}
		set("butane", "ignition", map[string]string{"config.ign": text})
		p.Butane = m.Butane.ValueString()
	}
	if convert.Known(m.CloudInit) {
		var c cloudInitModel
		diags.Append(m.CloudInit.As(ctx, &c, basetypes.ObjectAsOptions{})...)
		meta := c.MetaData.ValueString()
		if meta == "" {
			meta = m.defaultMetaData()
		}
		set("cloud_init", "cloud_init", map[string]string{"user-data": c.UserData.ValueString(), "meta-data": meta})
	}
	if m.Kickstart.ValueString() != "" {
		set("kickstart", "kickstart", map[string]string{"kickstart.cfg": m.Kickstart.ValueString()})
	}
	if m.Talos.ValueString() != "" {
		set("talos", "talos", map[string]string{"talos.yaml": m.Talos.ValueString()})
	}
	return p, diags
}

// defaultMetaData names the instance: another generation is another instance, which cloud-init sets up again.
func (m *model) defaultMetaData() string {
	return fmt.Sprintf("instance-id: %s-%d\nlocal-hostname: %[1]s\n", m.Name.ValueString(), m.Generation.ValueInt64())
}

// fillModel writes what the servers have, and keeps the model's own spelling where the meaning is the same.
func (m *model) fillModel(ctx context.Context, got netboot.Profile) diag.Diagnostics {
	own, diags := m.toSpec(ctx)
	m.Kernel = types.StringValue(got.Kernel)
	if own.MAC != got.MAC {
		m.MAC = types.StringValue(got.MAC)
	}
	if own.Node != got.Node {
		m.Node = convert.Text(got.Node)
	}
	if !host.SameReference(m.Standby.ValueString(), got.Standby) {
		m.Standby = convert.Text(got.Standby)
	}
	if own.Kind != got.Kind || !maps.Equal(own.Files, got.Files) {
		diags.Append(m.fillFiles(ctx, got)...)
	}
	m.Initrd = convert.List(got.Initrd)
	if m.Cmdline.ValueString() != got.Cmdline {
		m.Cmdline = types.StringValue(got.Cmdline)
	}
	m.Once, m.WaitForReport, m.Generation = types.BoolValue(got.Once), types.BoolValue(got.Reports), types.Int64Value(got.Generation)
	m.Installed, m.ReportURL, m.LastSeen = types.BoolValue(got.Installed), types.StringValue(got.ReportURL), types.StringValue("")
	if !got.LastSeen.IsZero() {
		m.LastSeen = types.StringValue(got.LastSeen.UTC().Format(time.RFC3339))
	}
	return diags
}

// fillFiles writes the machine's configuration as the attribute of its kind has it. Butane that the Ignition is not of is left out.
func (m *model) fillFiles(ctx context.Context, got netboot.Profile) (diags diag.Diagnostics) {
	m.Ignition, m.Butane, m.Kickstart, m.Talos = types.StringNull(), types.StringNull(), types.StringNull(), types.StringNull()
	m.CloudInit = types.ObjectNull(cloudInitTypes)
	switch got.Kind {
	case "ignition":
		if text, err := machine.TranslateButane(got.Butane); got.Butane != "" && err == nil && text == got.Files["config.ign"] {
			m.Butane = types.StringValue(got.Butane)
			break
		}
		m.Ignition = types.StringValue(got.Files["config.ign"])
	case "kickstart":
		m.Kickstart = types.StringValue(got.Files["kickstart.cfg"])
	case "talos":
		m.Talos = types.StringValue(got.Files["talos.yaml"])
	case "cloud_init":
		c := cloudInitModel{types.StringValue(got.Files["user-data"]), types.StringValue(got.Files["meta-data"])}
		m.Generation, m.Name = types.Int64Value(got.Generation), types.StringValue(got.Name)
		if c.MetaData.ValueString() == m.defaultMetaData() {
			c.MetaData = types.StringNull()
		}
		m.CloudInit, diags = types.ObjectValueFrom(ctx, cloudInitTypes, c)
	}
	return diags
}

// planChange plans the machine that a node is, and refuses a kernel or an initial RAM disk that is not there.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var was model
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &was)...)
	}
	if at.Fleet == nil || resp.Diagnostics.HasError() {
		return
	}
	what := fmt.Sprintf("boot profile %q", m.Name.ValueString())
	if !m.Node.IsNull() && !m.Node.IsUnknown() {
		resp.Diagnostics.Append(crud.DescribeLook(path.Root("node"), what, planMAC(ctx, at, resp, &was, m))...)
	}
	before, _ := was.toSpec(ctx)
	want, diags := m.toSpec(ctx)
	if diags.HasError() || m.BootServer.IsUnknown() || m.Standby.IsUnknown() {
		return
	}
	store, err := openProfile(ctx, at, m)
	if err != nil {
		return // whatever it is, there is no machine to ask yet
	}
	err = store.Ask(ctx, before, want, func(url string) bool { return isServed(at.Ledger, url) })
	resp.Diagnostics.Append(crud.DescribeLook(path.Root("boot_server"), what, err)...)
}

// nodePatience is how long a plan that does not depend on the node waits for it to be planned. Where the node depends on the profile it comes later
// in any case, and is refused where it has another address.
const nodePatience = 300 * time.Millisecond

// planMAC plans the address of the node's first interface. One that is not there yet keeps what the state has for it, and gets at first what a
// node of its name gets. Another address is another machine, of which nothing is known yet.
func planMAC(ctx context.Context, at crud.StoreContext, resp *resource.ModifyPlanResponse, was, m *model) error {
	node := m.Node.ValueString()
	at.Ledger.Await(ctx, plan.Use{Kind: plan.NodeCard, Value: node}, nodePatience)
	found, err := machine.FindFirstCards(ctx, at.Ledger, at.Fleet.Known(ctx), node)
	if err != nil {
		return err
	}
	had := netboot.Canonical(was.MAC.ValueString())
	mac := alloc.MAC(node, 0).String()
	switch {
	case len(found) > 1:
		return service.At([]any{"node"}, fmt.Errorf("several nodes are called %q, and their first interfaces have %s: write mac for the one that is meant, in place of node", node, strings.Join(found, " and ")))
	case len(found) == 1:
		mac = found[0]
	case was.Node.Equal(m.Node):
		mac = had
	}
	if mac == had {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("mac"), was.MAC)...)
		m.MAC = was.MAC
		return nil
	}
	m.MAC = types.StringValue(mac)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("mac"), mac)...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("installed"), types.BoolUnknown())...)
	for _, name := range []string{"last_seen", "report_url"} {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), types.StringUnknown())...)
	}
	return nil
}

// isServed says whether a resource of the plan serves a URL, which need not be there before the apply.
func isServed(planned plan.View, url string) bool {
	for _, held := range planned.List(plan.ServedURL) {
		if url == held.Value || strings.HasPrefix(url, held.Value+"/") {
			return true
		}
	}
	return false
}
