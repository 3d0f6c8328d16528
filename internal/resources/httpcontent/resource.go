// Package httpcontent is the resource virtcluster_http_content.
package httpcontent

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/httpcontent"
)

// form is what an id looks like.
const form = "SERVICE_NODE#http/ADDRESS:PORT/PATH"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, httpcontent.Content]{
		Name:   "http_content",
		Noun:   "content",
		Label:  func(m *model) string { return m.Path.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"service_node", "listen", "path"},
		ID:     formatID,
		Split:  splitID,
		Spec:   func(_ context.Context, m *model) (httpcontent.Content, diag.Diagnostics) { return m.toSpec(), nil },
		Fill: func(_ context.Context, m *model, got httpcontent.Content) diag.Diagnostics {
			m.fillModel(got)
			return nil
		},
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[httpcontent.Content], error) {
			spec := m.toSpec()
			return crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), httpcontent.NewPart(spec.Port, spec.Path, formatID(m), at.Claim.Mark(), at.Version))
		},
		Plan: planChange,
	})
}

func formatID(m *model) string {
	return hostattr.JoinID(m.ServiceNode, "http/"+m.Listen.ValueString()+m.Path.ValueString())
}

func splitID(m *model, id string) error {
	var rest types.String
	if err := hostattr.SplitName(id, "SERVICE_NODE#http/NAME", &m.ServiceNode, &rest); err != nil {
		return err
	}
	listen, below, ok := strings.Cut(rest.ValueString(), "/")
	if !ok || httpcontent.CheckListen(listen) != nil || httpcontent.CheckPath("/"+below) != nil {
		return fmt.Errorf("write %s, such as ssh://root@10.0.0.100#http/10.0.0.100:8080/rhcos/kernel", form)
	}
	m.Listen, m.Path = types.StringValue(listen), types.StringValue("/"+below)
	return nil
}

// planChange plans the checksum and the URL, and refuses a source that cannot be read or fetched.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	want := m.toSpec()
	if url := want.URL(); url != "" && !m.Path.IsUnknown() {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("url"), url)...)
	}
	var written types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("checksum"), &written)...)
	want.Planned = written.ValueString()
	if resp.Diagnostics.HasError() || written.IsUnknown() || m.Content.IsUnknown() || m.Source.IsUnknown() || m.Directory.IsUnknown() || at.Fleet != nil && at.Fleet.Offline() {
		return
	}
	complete, err := want.Complete()
	if err != nil {
		resp.Diagnostics.Append(crud.NewFailure("plan", fmt.Sprintf("content %q", want.Path), err))
		return
	}
	m.Checksum = types.StringValue(complete.Checksum())
	if written.IsNull() {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("checksum"), m.Checksum)...)
	}
	var was types.String
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("checksum"), &was)...)
	}
	if httpcontent.IsURL(want.Source) && !strings.EqualFold(was.ValueString(), want.Planned) {
		if err := httpcontent.CheckURL(ctx, want.Source); err != nil {
			resp.Diagnostics.Append(crud.NewFailure("plan", fmt.Sprintf("content %q", want.Path), service.At([]any{"source"}, err)))
		}
	}
}
