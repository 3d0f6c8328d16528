package dnszone

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

type model struct {
	crud.ServingModel
	ID            types.String `tfsdk:"id"`
	ServiceNode   types.String `tfsdk:"service_node"`
	View          types.String `tfsdk:"view"`
	Name          types.String `tfsdk:"name"`
	CIDR          types.String `tfsdk:"cidr"`
	TTL           types.Int64  `tfsdk:"ttl"`
	SOA           types.Object `tfsdk:"soa"`
	NameServers   types.List   `tfsdk:"name_servers"`
	Records       types.Map    `tfsdk:"records"`
	Pointers      types.Map    `tfsdk:"pointers"`
	AllowTransfer types.List   `tfsdk:"allow_transfer"`
	Forward       types.Object `tfsdk:"forward"`
	Serial        types.Int64  `tfsdk:"serial"`
	ParentRecords types.Map    `tfsdk:"parent_records"`
}

// plannedValues are the attributes that planning may settle, and those that a change of the zone shows in.
func (m *model) plannedValues() map[string]attr.Value {
	return map[string]attr.Value{
		"name": m.Name, "cidr": m.CIDR, "view": m.View, "service_node": m.ServiceNode, "ttl": m.TTL, "soa": m.SOA,
		"name_servers": m.NameServers, "records": m.Records, "pointers": m.Pointers, "allow_transfer": m.AllowTransfer,
		"forward": m.Forward, "serial": m.Serial, "parent_records": m.ParentRecords,
	}
}

func toSpec(_ context.Context, m *model) (bind.Zone, diag.Diagnostics) {
	z, diags := convert.Plain[bind.Zone](m)
	if !convert.Known(m.SOA) {
		z.SOA = bind.DefaultSOA
	}
	z.NameServers, z.AllowTransfer = convert.Texts(m.NameServers), convert.Texts(m.AllowTransfer)
	z.Records, z.Pointers = decodeRecords(m.Records), convert.MapTexts(m.Pointers)
	if z.Forward != nil {
		servers, _ := m.Forward.Attributes()["servers"].(types.List)
		z.Forward.Servers = convert.Texts(servers)
	}
	return z, diags
}

func decodeRecords(v types.Map) bind.Records {
	if v.IsNull() || v.IsUnknown() {
		return nil
	}
	all := bind.Records{}
	for owner, e := range v.Elements() {
		all[owner] = map[string][]string{}
		sets, _ := e.(types.Map)
		for rrType, e := range sets.Elements() {
			list, _ := e.(types.List)
			all[owner][rrType] = convert.Texts(list)
		}
	}
	return all
}

func recordsMap(all bind.Records) types.Map {
	if all == nil {
		return types.MapNull(setsType)
	}
	owners := map[string]attr.Value{}
	for owner, sets := range all {
		byType := map[string]attr.Value{}
		for rrType, values := range sets {
			byType[rrType] = convert.List(values)
		}
		owners[owner] = types.MapValueMust(valuesType, byType)
	}
	return types.MapValueMust(setsType, owners)
}

// parentRecords are the CNAMEs for a classless zone.
func parentRecords(cidr string) types.Map {
	p, err := bind.ParseCIDR(cidr)
	if err != nil {
		return types.MapNull(setsType)
	}
	var all bind.Records
	for owner, target := range bind.ParentRecords(p) {
		if all == nil {
			all = bind.Records{}
		}
		all[owner] = map[string][]string{"CNAME": {target}}
	}
	return recordsMap(all)
}

func fillModel(ctx context.Context, m *model, read bind.Zone) diag.Diagnostics {
	own, diags := toSpec(ctx, m)
	got := own.Spell(read)
	m.Name = types.StringValue(got.Name)
	m.CIDR = cidrOf(got)
	m.ParentRecords = parentRecords(m.CIDR.ValueString())
	if got.Forward != nil {
		m.fillForward(got)
		return diags
	}
	m.Forward = types.ObjectNull(forwardTypes)
	m.TTL = types.Int64Value(got.TTL)
	m.SOA = convert.Value(got.SOA).(types.Object)
	m.NameServers = convert.List(got.NameServers)
	m.AllowTransfer = convert.List(got.AllowTransfer)
	m.Records = recordsMap(got.Records)
	m.Pointers = packPointers(got.Pointers)
	m.Serial = types.Int64Value(int64(got.Serial))
	return diags
}

// fillForward leaves what a forward zone does not have as it is, or at its default after an import.
func (m *model) fillForward(got bind.Zone) {
	m.Forward = types.ObjectValueMust(forwardTypes, map[string]attr.Value{
		"servers": convert.List(got.Forward.Servers), "only": types.BoolValue(got.Forward.Only),
	})
	m.Serial, m.SOA = types.Int64Null(), types.ObjectNull(soaTypes)
	m.Records, m.Pointers = types.MapNull(setsType), types.MapNull(types.StringType)
	if !convert.Known(m.TTL) {
		m.TTL = types.Int64Value(bind.DefaultTTL)
	}
	if !convert.Known(m.NameServers) {
		m.NameServers = convert.List([]string{bind.DefaultNameServer})
	}
	if !convert.Known(m.AllowTransfer) {
		m.AllowTransfer = convert.List([]string{"localhost"})
	}
}

// cidrOf is the prefix that a reverse zone is for: the one it was described by, or that of its name.
func cidrOf(z bind.Zone) types.String {
	if z.CIDR != "" {
		return types.StringValue(z.CIDR)
	}
	name, err := z.CanonicalName()
	if p, ok := bind.ReversePrefix(name); ok && err == nil {
		return types.StringValue(p.String())
	}
	return types.StringNull()
}

func packPointers(all map[string]string) types.Map {
	if all == nil {
		return types.MapNull(types.StringType)
	}
	return convert.Map(all)
}
