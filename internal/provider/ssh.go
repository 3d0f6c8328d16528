package provider

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
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
			"user":             schema.StringAttribute{Validators: []validator.String{values.Word.OrEmpty()}, Optional: true, MarkdownDescription: "Login where the endpoint names none. A user other than root needs `sudo` without a password."},
			"private_key":      schema.StringAttribute{Validators: []validator.String{values.Text.OrEmpty()}, Optional: true, Sensitive: true, MarkdownDescription: "Private key in PEM or OpenSSH form."},
			"private_key_file": schema.StringAttribute{Validators: []validator.String{values.Line.OrEmpty()}, Optional: true, MarkdownDescription: "Path of a private key."},
			"agent":            schema.BoolAttribute{Optional: true, MarkdownDescription: "Whether to ask the agent at `$SSH_AUTH_SOCK`. Default: yes where it is set."},
			"known_hosts_file": schema.StringAttribute{Validators: []validator.String{values.Line.OrEmpty()}, Optional: true, MarkdownDescription: "Known hosts file instead of `~/.ssh/known_hosts`."},
			"proxy_jump":       schema.StringAttribute{Validators: []validator.String{jumps}, Optional: true, MarkdownDescription: "Machines to jump through: `[user@]host[:port]`, several separated by commas."},
			"connect_timeout":  schema.StringAttribute{Validators: []validator.String{values.Duration(time.Millisecond, time.Hour)}, Optional: true, MarkdownDescription: "How long one attempt to connect may take, as a duration. Default: `10s`."},
		},
	}
}

// jumps are machines to jump through.
var jumps = values.New("proxy jump", "core@jump.example:2222", func(text string) error {
	_, err := host.ParseJump(text)
	return err
}).OrEmpty()

// sshOptions converts the block. With anything unknown in it, no machine can be reached by SSH yet: known is false.
func sshOptions(ctx context.Context, block types.Object) (o sshhost.Options, known bool, diags diag.Diagnostics) {
	if block.IsUnknown() {
		return o, false, diags
	}
	for _, v := range block.Attributes() {
		if v.IsUnknown() {
			return o, false, diags
		}
	}
	if block.IsNull() {
		return o, true, diags
	}
	var m sshModel
	if diags = block.As(ctx, &m, basetypes.ObjectAsOptions{}); diags.HasError() {
		return o, true, diags
	}
	o = sshhost.Options{
		User: m.User.ValueString(), PrivateKey: m.PrivateKey.ValueString(), PrivateKeyFile: m.PrivateKeyFile.ValueString(),
		KnownHostsFile: m.KnownHostsFile.ValueString(), ProxyJump: m.ProxyJump.ValueString(),
	}
	if !m.Agent.IsNull() {
		o.Agent = m.Agent.ValueBoolPointer()
	}
	if text := m.ConnectTimeout.ValueString(); text != "" {
		o.ConnectTimeout, _ = time.ParseDuration(text) // checked in the schema
	}
	diags.Append(checkKeys(o)...)
	return o, true, diags
}

// checkKeys refuses what is no private key. A file that is not there may be made by the same apply, so that it is worth a warning.
func checkKeys(o sshhost.Options) diag.Diagnostics {
	var diags diag.Diagnostics
	at := path.Root("ssh")
	if o.PrivateKey != "" {
		if err := sshhost.CheckKey([]byte(o.PrivateKey)); err != nil {
			diags.AddAttributeError(at.AtName("private_key"), "No private key", "ssh.private_key: "+err.Error())
		}
	}
	if o.PrivateKeyFile != "" {
		switch err := sshhost.CheckKeyFile(o.PrivateKeyFile); {
		case errors.Is(err, fs.ErrNotExist):
			diags.AddAttributeWarning(at.AtName("private_key_file"), "No key file", fmt.Sprintf("ssh.private_key_file: there is no file %q: unless something else of this apply makes it, every login by it fails", o.PrivateKeyFile))
		case err != nil:
			diags.AddAttributeError(at.AtName("private_key_file"), "No private key", "ssh.private_key_file: "+err.Error())
		}
	}
	return diags
}
