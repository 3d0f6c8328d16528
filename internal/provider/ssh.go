package provider

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

type sshModel struct {
	User           types.String `tfsdk:"user"`
	PrivateKey     types.String `tfsdk:"private_key"`
	PrivateKeyFile types.String `tfsdk:"private_key_file"`
	Agent          types.Bool   `tfsdk:"agent"`
	KnownHostsFile types.String `tfsdk:"known_hosts_file"`
	ProxyJump      types.String `tfsdk:"proxy_jump"`
	ConnectTimeout types.String `tfsdk:"connect_timeout"`
}

func sshSchema() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "Defaults for every SSH connection, to hypervisors and to service nodes. `~/.ssh/config` is honoured; what is set here goes before it.",
		Attributes: map[string]schema.Attribute{
			"user":             schema.StringAttribute{Optional: true, MarkdownDescription: "Login where the endpoint names none. A user other than root needs `sudo` without a password."},
			"private_key":      schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: "Private key in PEM or OpenSSH form."},
			"private_key_file": schema.StringAttribute{Optional: true, MarkdownDescription: "Path of a private key."},
			"agent":            schema.BoolAttribute{Optional: true, MarkdownDescription: "Whether to ask the agent at `$SSH_AUTH_SOCK`. Default: yes where it is set."},
			"known_hosts_file": schema.StringAttribute{Optional: true, MarkdownDescription: "Known hosts file instead of `~/.ssh/known_hosts`."},
			"proxy_jump":       schema.StringAttribute{Optional: true, MarkdownDescription: "Machines to jump through: `[user@]host[:port]`, several separated by commas."},
			"connect_timeout":  schema.StringAttribute{Optional: true, MarkdownDescription: "How long one attempt to connect may take, as a duration. Default: `10s`."},
		},
	}
}

// options converts the block; a nil receiver is an absent one.
func (m *sshModel) options() (sshhost.Options, diag.Diagnostics) {
	var diags diag.Diagnostics
	if m == nil {
		return sshhost.Options{}, diags
	}
	o := sshhost.Options{
		User: m.User.ValueString(), PrivateKey: m.PrivateKey.ValueString(), PrivateKeyFile: m.PrivateKeyFile.ValueString(),
		KnownHostsFile: m.KnownHostsFile.ValueString(), ProxyJump: m.ProxyJump.ValueString(),
	}
	if !m.Agent.IsNull() && !m.Agent.IsUnknown() {
		o.Agent = m.Agent.ValueBoolPointer()
	}
	if text := m.ConnectTimeout.ValueString(); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			diags.AddAttributeError(path.Root("ssh").AtName("connect_timeout"), "Invalid duration", "write a positive duration such as \"10s\" or \"1m\", not \""+text+"\"")
		}
		o.ConnectTimeout = d
	}
	return o, diags
}
