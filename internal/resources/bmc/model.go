package bmc

import (
	"context"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/bmc/config"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bmc"
)

type model struct {
	crud.ServingModel
	ID              types.String `tfsdk:"id"`
	Hypervisor      types.String `tfsdk:"hypervisor"`
	Name            types.String `tfsdk:"name"`
	Address         types.String `tfsdk:"address"`
	SharedPort      types.Int64  `tfsdk:"shared_port"`
	Nodes           types.Map    `tfsdk:"nodes"`
	User            types.String `tfsdk:"user"`
	Password        types.String `tfsdk:"password"`
	PasswordWO      types.String `tfsdk:"password_wo"`
	PasswordVersion types.Int64  `tfsdk:"password_wo_version"`
	TLS             types.Object `tfsdk:"tls"`
	Binary          types.Object `tfsdk:"binary"`
	Program         types.String `tfsdk:"program"`
	ProgramChecksum types.String `tfsdk:"program_checksum"`
	Fingerprint     types.String `tfsdk:"certificate_fingerprint"`
}

type nodeModel struct {
	Address    types.String `tfsdk:"address"`
	Port       types.Int64  `tfsdk:"port"`
	IPMIPort   types.Int64  `tfsdk:"ipmi_port"`
	SystemID   types.String `tfsdk:"system_id"`
	RedfishURL types.String `tfsdk:"redfish_url"`
	IPMIURL    types.String `tfsdk:"ipmi_url"`
}

var (
	nodeTypes = map[string]attr.Type{
		"address": types.StringType, "port": types.Int64Type, "ipmi_port": types.Int64Type, "system_id": types.StringType,
		"redfish_url": types.StringType, "ipmi_url": types.StringType,
	}
	tlsTypes = map[string]attr.Type{"certificate": types.StringType, "key": types.StringType, "key_wo": types.StringType}
)

// decodeNodes reads the nodes; one that is not known yet is left out.
func (m *model) decodeNodes(ctx context.Context, diags *diag.Diagnostics) map[string]nodeModel {
	all := map[string]nodeModel{}
	for name, e := range m.Nodes.Elements() {
		var n nodeModel
		if o, ok := e.(types.Object); ok && convert.Known(o) {
			diags.Append(o.As(ctx, &n, basetypes.ObjectAsOptions{})...)
			all[name] = n
		}
	}
	return all
}

// toNode is a node in plain values; what is left out is what bmc completes.
func (n nodeModel) toNode() config.Node {
	node := config.Node{Address: n.Address.ValueString(), Port: int(n.Port.ValueInt64()), IPMIPort: bmc.DefaultIPMIPort, SystemID: n.SystemID.ValueString()}
	if !n.IPMIPort.IsNull() && !n.IPMIPort.IsUnknown() {
		node.IPMIPort = int(n.IPMIPort.ValueInt64())
	}
	return node
}

// toSpec converts the model; uri is libvirt's on the machine itself.
func (m *model) toSpec(ctx context.Context) (bmc.Controllers, diag.Diagnostics) {
	var diags diag.Diagnostics
	c := bmc.Controllers{
		Name: m.Name.ValueString(), User: m.User.ValueString(), Password: m.Password.ValueString(), Version: m.PasswordVersion.ValueInt64(),
		Address: m.Address.ValueString(), SharedPort: int(m.SharedPort.ValueInt64()), Nodes: map[string]config.Node{},
		Program: m.Program.ValueString(), Sum: trimSum(m.ProgramChecksum.ValueString()),
	}
	if c.Password == "" {
		c.Password = m.PasswordWO.ValueString()
	}
	for name, n := range m.decodeNodes(ctx, &diags) {
		c.Nodes[name] = n.toNode()
	}
	attributes := m.TLS.Attributes()
	c.Certificate = textOf(attributes["certificate"])
	if c.Key = textOf(attributes["key"]); c.Key == "" {
		c.Key = textOf(attributes["key_wo"])
	}
	return c, diags
}

// textOf is a text, "" where it is null or not known.
func textOf(v attr.Value) string {
	text, _ := v.(types.String)
	return text.ValueString()
}

// writeOnly brings the secrets from the configuration into the model that is written.
func writeOnly(planned, from *model) {
	planned.PasswordWO = from.PasswordWO
	planned.TLS = convert.TakeAttribute(planned.TLS, from.TLS, "key_wo")
}

// fillModel writes what the machine has into the model.
func (m *model) fillModel(ctx context.Context, got bmc.Controllers) diag.Diagnostics {
	var diags diag.Diagnostics
	own := m.decodeNodes(ctx, &diags)
	all := map[string]nodeModel{}
	for name, n := range got.Nodes {
		all[name] = newNode(n, own[name].Address)
	}
	m.Nodes, diags = types.MapValueFrom(ctx, types.ObjectType{AttrTypes: nodeTypes}, all)
	m.Address = keepAddress(m.Address, got.Address)
	m.SharedPort = types.Int64Null()
	if got.SharedPort != 0 {
		m.SharedPort = types.Int64Value(int64(got.SharedPort))
	}
	m.User = types.StringValue(got.User)
	m.PasswordWO = types.StringNull()
	if !m.Password.IsNull() && !got.HasPassword(m.Password.ValueString()) {
		m.Password = types.StringValue("")
	}
	if !m.PasswordVersion.IsNull() || m.Password.IsNull() {
		m.PasswordVersion = types.Int64Value(got.Version)
	}
	if m.Password.IsNull() && got.Version == 0 && m.PasswordVersion.ValueInt64() == 0 {
		m.PasswordVersion = types.Int64Null()
	}
	switch own := m.TLS.Attributes(); {
	case got.Certificate == "":
		m.TLS = types.ObjectNull(tlsTypes)
	case textOf(own["certificate"]) != got.Certificate || textOf(own["key_wo"]) != "":
		key, ok := own["key"].(types.String)
		if !ok {
			key = types.StringNull()
		}
		m.TLS = types.ObjectValueMust(tlsTypes, map[string]attr.Value{"certificate": types.StringValue(got.Certificate), "key": key, "key_wo": types.StringNull()})
	}
	m.Program, m.ProgramChecksum, m.Fingerprint = types.StringValue(got.Program), types.StringValue(sumPrefix+got.Sum), types.StringValue(got.Fingerprint)
	return diags
}

// newNode is a completed node; own is how the model spells its address.
func newNode(n config.Node, own types.String) nodeModel {
	made := nodeModel{
		Address: keepAddress(own, n.Address), Port: types.Int64Value(int64(n.Port)), IPMIPort: types.Int64Value(int64(n.IPMIPort)),
		SystemID: types.StringValue(n.SystemID), RedfishURL: types.StringValue(bmc.RedfishURL(n)), IPMIURL: types.StringNull(),
	}
	if url := bmc.IPMIURL(n); url != "" {
		made.IPMIURL = types.StringValue(url)
	}
	return made
}

// keepAddress is an address that was read, in the model's own spelling where it is the same; null for "".
func keepAddress(own types.String, got string) types.String {
	if got == "" {
		return types.StringNull()
	}
	a, errA := netip.ParseAddr(own.ValueString())
	b, errB := netip.ParseAddr(got)
	if errA == nil && errB == nil && a == b {
		return own
	}
	return types.StringValue(got)
}

// sumPrefix is what checksums begin with.
const sumPrefix = "sha256:"

func trimSum(text string) string {
	if len(text) > len(sumPrefix) {
		return text[len(sumPrefix):]
	}
	return ""
}
