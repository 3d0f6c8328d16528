// Package kubeconfig is the ephemeral resource virtcluster_kubeconfig.
package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/kubeconfig"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// defaultTimeout is enough for a machine that restarts; installations have virtcluster_readiness to wait for them.
const defaultTimeout = 2 * time.Minute

// server is where an API answers.
var server = values.Matching("URL", "https://api.okd.example:6443", regexp.MustCompile(`^https://[^/@\s]+/?$`), "a URL of https with a host, such as https://api.okd.example:6443")

type model struct {
	Endpoint          types.String `tfsdk:"endpoint"`
	Path              types.String `tfsdk:"path"`
	Server            types.String `tfsdk:"server"`
	After             types.String `tfsdk:"after"`
	Timeout           types.String `tfsdk:"timeout"`
	Kubeconfig        types.String `tfsdk:"kubeconfig"`
	Host              types.String `tfsdk:"host"`
	CACertificate     types.String `tfsdk:"ca_certificate"`
	ClientCertificate types.String `tfsdk:"client_certificate"`
	ClientKey         types.String `tfsdk:"client_key"`
	Token             types.String `tfsdk:"token"`
}

// New is the constructor that the provider offers.
func New() ephemeral.EphemeralResource {
	secret := func(words string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: words}
	}
	return crud.NewEphemeral(crud.Ephemeral[model]{
		Name: "kubeconfig",
		Schema: schema.Schema{
			MarkdownDescription: "The administrator's kubeconfig of a cluster, read from one of its masters, in neither plan nor state: for the configuration of other providers, " +
				"for provisioners and for write-only attributes. It is read at each plan and apply. While `endpoint` or `after` is unknown nothing is read, and what is read is " +
				"null where the provider is `offline` or its configuration is not known yet.",
			Attributes: map[string]schema.Attribute{
				"endpoint": schema.StringAttribute{
					Required: true, Validators: []validator.String{values.Endpoint},
					MarkdownDescription: "Endpoint of a master: `ssh://[user@]host[:port]`, `local:`, `qemu-ga://[hypervisor]/domain`, or the id of a `virtcluster_service_node`. The file is read as root, by sudo where the user is another one.",
				},
				"path": schema.StringAttribute{
					Optional: true, Validators: []validator.String{values.Path},
					MarkdownDescription: "Where the kubeconfig is on the master. Default: the first that is there of those of kubeadm, OpenShift, k3s, RKE2 and k0s.",
				},
				"server": schema.StringAttribute{
					Optional: true, Validators: []validator.String{server},
					MarkdownDescription: "URL of the API, such as `https://api.okd.example:6443`, in place of the one that the kubeconfig has. Default: that one.",
				},
				"after": schema.StringAttribute{
					Optional: true, Validators: []validator.String{values.Free},
					MarkdownDescription: "Anything that is not known before the cluster is there, such as the `answer` of a `virtcluster_readiness`: the plan that makes the cluster does not wait for its kubeconfig then. Default: none.",
				},
				"timeout": schema.StringAttribute{
					Optional: true, Validators: []validator.String{values.Duration(time.Second, time.Hour)},
					MarkdownDescription: "How long to wait for the machine and for the file, as a duration. Default: `2m`.",
				},
				"kubeconfig":         secret("All of the kubeconfig, with `server` in it."),
				"host":               schema.StringAttribute{Computed: true, MarkdownDescription: "URL of the API."},
				"ca_certificate":     schema.StringAttribute{Computed: true, MarkdownDescription: "Certificate of the cluster's authority as PEM; null where there is none."},
				"client_certificate": secret("Certificate of the administrator as PEM; null where a token is used."),
				"client_key":         secret("Key of `client_certificate` as PEM."),
				"token":              secret("Token of the administrator; null where a certificate is used."),
			},
		},
		What: func(m *model) string { return "kubeconfig of " + m.Endpoint.ValueString() },
		Open: waitAndRead,
	})
}

// waitAndRead waits for the kubeconfig, and reads it.
func waitAndRead(ctx context.Context, p crud.ProviderData, m *model) (diags diag.Diagnostics, err error) {
	h, err := p.Fleet.Host(ctx, m.Endpoint.ValueString())
	if err != nil {
		return nil, err
	}
	patience := defaultTimeout
	if !m.Timeout.IsNull() {
		patience, _ = time.ParseDuration(m.Timeout.ValueString()) // the schema has checked it
	}
	paths := kubeconfig.KnownPaths
	if !m.Path.IsNull() {
		paths = []string{m.Path.ValueString()}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("`timeout` is %s", patience))
	defer cancel()
	got, err := provision.Answering(ctx, h.String(), mayCome, func(ctx context.Context) (kubeconfig.Config, error) {
		return kubeconfig.Read(ctx, h, paths, m.Server.ValueString())
	})
	if err != nil {
		return nil, err
	}
	if got.MeansItself() {
		diags.AddAttributeWarning(path.Root("server"), "The kubeconfig works on the master alone",
			fmt.Sprintf("Its server is %s: write `server` with the address that the API has for others.", got.Server))
	}
	m.Kubeconfig, m.Host, m.CACertificate = types.StringValue(got.Text), types.StringValue(got.Server), convert.Text(got.CACertificate)
	m.ClientCertificate, m.ClientKey, m.Token = convert.Text(got.ClientCertificate), convert.Text(got.ClientKey), convert.Text(got.Token)
	return diags, nil
}

// mayCome says of an error whether trying again can help: an installer is still at it, or the machine starts.
func mayCome(err error) (again, brief bool) {
	if errors.As(err, new(*kubeconfig.NotThereError)) {
		return true, false
	}
	return fleet.Temporary(err)
}
