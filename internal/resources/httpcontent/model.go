package httpcontent

import (
	"net/netip"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/httpcontent"
)

type model struct {
	crud.ServingModel
	ID          types.String `tfsdk:"id"`
	ServiceNode types.String `tfsdk:"service_node"`
	Listen      types.String `tfsdk:"listen"`
	Path        types.String `tfsdk:"path"`
	Content     types.String `tfsdk:"content"`
	Source      types.String `tfsdk:"source"`
	Directory   types.String `tfsdk:"directory"`
	Checksum    types.String `tfsdk:"checksum"`
	URL         types.String `tfsdk:"url"`
}

func (m *model) toSpec() httpcontent.Content {
	c := httpcontent.Content{
		Path: m.Path.ValueString(), Text: m.Content.ValueString(), Source: m.Source.ValueString(), Directory: m.Directory.ValueString(), Planned: m.Checksum.ValueString(),
	}
	if at, err := netip.ParseAddrPort(m.Listen.ValueString()); err == nil {
		c.Address, c.Port = at.Addr(), int64(at.Port())
	}
	return c
}

// fillModel writes what the machine has, and keeps the model's own spelling where the meaning is the same.
func (m *model) fillModel(got httpcontent.Content) {
	m.Path = types.StringValue(got.Path)
	if got.Address.IsValid() {
		m.Listen = types.StringValue(netip.AddrPortFrom(got.Address, uint16(got.Port)).String()) //nolint:gosec // it is a port
	}
	m.Content, m.Source, m.Directory = convert.Text(got.Text), convert.Text(got.Source), convert.Text(got.Directory)
	if !strings.EqualFold(m.Checksum.ValueString(), got.Checksum()) || m.Checksum.IsUnknown() {
		m.Checksum = types.StringValue(got.Checksum())
	}
	m.URL = types.StringValue(got.URL())
}
