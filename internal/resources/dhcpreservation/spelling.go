package dhcpreservation

import (
	"context"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// keepSpelling lets the prior value stand where the planned one means the same.
func keepSpelling(req planmodifier.StringRequest, resp *planmodifier.StringResponse, canonical func(string) string) {
	if req.StateValue.IsNull() || !convert.Known(req.PlanValue) {
		return
	}
	if canonical(req.StateValue.ValueString()) == canonical(req.PlanValue.ValueString()) {
		resp.PlanValue = types.StringValue(req.StateValue.ValueString())
	}
}

type sameMAC struct{}

func (sameMAC) Description(context.Context) string {
	return "two spellings of one MAC address are the same"
}
func (m sameMAC) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }
func (sameMAC) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	keepSpelling(req, resp, canonicalMAC)
}

type sameAddress struct{}

func (sameAddress) Description(context.Context) string {
	return "two spellings of one address are the same"
}
func (m sameAddress) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }
func (sameAddress) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	keepSpelling(req, resp, canonicalAddress)
}

type sameDUID struct{}

func (sameDUID) Description(context.Context) string               { return "two spellings of one DUID are the same" }
func (m sameDUID) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }
func (sameDUID) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	keepSpelling(req, resp, virtnetwork.CanonicalDUID)
}

// canonicalMAC is a MAC address in lower case with colons; what is none stays as it is, for Validate to refuse.
func canonicalMAC(text string) string {
	if mac, err := alloc.CanonicalMAC(text); err == nil {
		return mac
	}
	return text
}

func canonicalAddress(text string) string {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().String()
	}
	return text
}
