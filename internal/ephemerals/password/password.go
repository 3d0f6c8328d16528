// Package password is the ephemeral resource virtcluster_password.
package password

import (
	"context"
	"crypto/rand"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// defaultLength is worth 142 bits.
const defaultLength = 24

type model struct {
	Length  types.Int64  `tfsdk:"length"`
	Secret  types.String `tfsdk:"secret"`
	Purpose types.String `tfsdk:"purpose"`
	Result  types.String `tfsdk:"result"`
}

// New is the constructor that the provider offers.
func New() ephemeral.EphemeralResource {
	return crud.NewEphemeral(crud.Ephemeral[model]{
		Name: "password",
		Schema: schema.Schema{
			MarkdownDescription: "A password of letters and digits for a write-only attribute, in neither plan nor state. By itself it is another one at each run: a " +
				"write-only attribute takes it once for each version. With a `secret` it is the same one at each run, in every state, and can be told again.",
			Attributes: map[string]schema.Attribute{
				"length": schema.Int64Attribute{
					Optional: true, Validators: []validator.Int64{values.Between(8, 256)},
					MarkdownDescription: "How many characters; each is worth 5.9 bits. keepalived reads 8 of an `auth_pass_wo`. Default: `24`.",
				},
				"secret": schema.StringAttribute{
					Optional: true, Sensitive: true, Validators: []validator.String{values.Text},
					MarkdownDescription: "What the password is derived from, such as an ephemeral variable, by HMAC-SHA256. Who knows the password does not know it. Default: random, at each run.",
				},
				"purpose": schema.StringAttribute{
					Optional: true, Validators: []validator.String{values.Line, stringvalidator.AlsoRequires(path.MatchRoot("secret"))},
					MarkdownDescription: "What the password is for, such as `vrrp api`: each purpose has another one of the same `secret`. Default: none.",
				},
				"result": schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "The password."},
			},
		},
		What: func(*model) string { return "password" },
		Open: func(_ context.Context, _ crud.ProviderData, m *model) (diag.Diagnostics, error) {
			secret, length := m.Secret.ValueString(), defaultLength
			if m.Secret.IsNull() {
				secret = rand.Text() + rand.Text()
			}
			if !m.Length.IsNull() {
				length = int(m.Length.ValueInt64())
			}
			m.Result = types.StringValue(alloc.Password(secret, m.Purpose.ValueString(), length))
			return nil, nil
		},
	})
}
