package dnszone

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/largemap"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

type model struct {
	crud.ServingModel
	ID            types.String   `tfsdk:"id"`
	ServiceNode   types.String   `tfsdk:"service_node"`
	View          types.String   `tfsdk:"view"`
	Name          types.String   `tfsdk:"name"`
	CIDR          types.String   `tfsdk:"cidr"`
	TTL           types.Int64    `tfsdk:"ttl"`
	SOA           types.Object   `tfsdk:"soa"`
	NameServers   types.List     `tfsdk:"name_servers"`
	Records       largemap.Value `tfsdk:"records"`
	Pointers      largemap.Value `tfsdk:"pointers"`
	AllowTransfer types.List     `tfsdk:"allow_transfer"`
	Forward       types.Object   `tfsdk:"forward"`
	Serial        types.Int64    `tfsdk:"serial"`
	ParentRecords types.Map      `tfsdk:"parent_records"`
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
	z := bind.Zone{
		View: m.View.ValueString(), Name: m.Name.ValueString(), CIDR: m.CIDR.ValueString(),
		TTL: m.TTL.ValueInt64(), SOA: decodeSOA(m.SOA), NameServers: convert.Texts(m.NameServers),
		Records: decodeRecords(m.Records), Pointers: decodePointers(m.Pointers), AllowTransfer: convert.Texts(m.AllowTransfer),
	}
	if convert.Known(m.Forward) {
		servers, _ := m.Forward.Attributes()["servers"].(types.List)
		only, _ := m.Forward.Attributes()["only"].(types.Bool)
		z.Forward = &bind.Forward{Servers: convert.Texts(servers), Only: only.ValueBool()}
	}
	return z, nil
}

func decodeSOA(o types.Object) bind.SOA {
	text := func(name string) string { s, _ := o.Attributes()[name].(types.String); return s.ValueString() }
	number := func(name string) int64 { n, _ := o.Attributes()[name].(types.Int64); return n.ValueInt64() }
	if !convert.Known(o) {
		return bind.DefaultSOA
	}
	return bind.SOA{
		MName: text("mname"), RName: text("rname"),
		Refresh: number("refresh"), Retry: number("retry"), Expire: number("expire"), Minimum: number("minimum"),
	}
}

func soaObject(s bind.SOA) types.Object {
	return types.ObjectValueMust(soaTypes, map[string]attr.Value{
		"mname": types.StringValue(s.MName), "rname": types.StringValue(s.RName),
		"refresh": types.Int64Value(s.Refresh), "retry": types.Int64Value(s.Retry),
		"expire": types.Int64Value(s.Expire), "minimum": types.Int64Value(s.Minimum),
	})
}

// decodeRecords reads the map; a name or a set that is not known has no values, a value that is not known is "".
func decodeRecords(v largemap.Value) bind.Records {
	content, ok := v.Content().(map[string]any)
	if !ok {
		return nil
	}
	all := bind.Records{}
	for owner, e := range content {
		sets, _ := e.(map[string]any)
		all[owner] = map[string][]string{}
		for rrType, v := range sets {
			all[owner][rrType] = textsOf(v)
		}
	}
	return all
}

func textsOf(content any) []string {
	list, ok := content.([]any)
	if !ok {
		return nil
	}
	all := make([]string, len(list))
	for i, e := range list {
		all[i], _ = e.(string)
	}
	return all
}

// packRecords is the inverse of decodeRecords.
func packRecords(all bind.Records) largemap.Value {
	if all == nil {
		return largemap.Pack(nil)
	}
	content := map[string]any{}
	for owner, sets := range all {
		byType := map[string]any{}
		for rrType, values := range sets {
			list := make([]any, len(values))
			for i, v := range values {
				list[i] = v
			}
			byType[rrType] = list
		}
		content[owner] = byType
	}
	return largemap.Pack(content)
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
	m.SOA = soaObject(got.SOA)
	m.NameServers = convert.List(got.NameServers)
	m.AllowTransfer = convert.List(got.AllowTransfer)
	m.Records = packRecords(got.Records)
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
	m.Records, m.Pointers = largemap.Pack(nil), largemap.Pack(nil)
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

// decodePointers reads the map; a name that is not known is "".
func decodePointers(v largemap.Value) map[string]string {
	content, ok := v.Content().(map[string]any)
	if !ok {
		return nil
	}
	all := map[string]string{}
	for address, name := range content {
		all[address], _ = name.(string)
	}
	return all
}

// packPointers is the inverse of decodePointers.
func packPointers(all map[string]string) largemap.Value {
	if all == nil {
		return largemap.Pack(nil)
	}
	content := map[string]any{}
	for address, name := range all {
		content[address] = name
	}
	return largemap.Pack(content)
}
