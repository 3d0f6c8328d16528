// Package bmc is the resource virtcluster_bmc.
package bmc

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bmc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, bmc.Controllers]{
		Name:   "bmc",
		Noun:   "controllers",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"hypervisor", "name"},
		ID:     formatID,
		Split:  splitID,
		Spec:   func(ctx context.Context, m *model) (bmc.Controllers, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill: func(ctx context.Context, m *model, got bmc.Controllers) diag.Diagnostics {
			return m.fillModel(ctx, got)
		},
		Open:      openStore,
		Listing:   crud.Listing{List: crud.ListOnMachine(bmc.ListNames), ListsMarked: true},
		WriteOnly: writeOnly,
		Plan:      planControllers,
	})
}

// formatID is NAME or HYPERVISOR/NAME.
func formatID(m *model) string {
	if h := m.Hypervisor.ValueString(); h != "" {
		return h + "/" + m.Name.ValueString()
	}
	return m.Name.ValueString()
}

func splitID(m *model, id string) error {
	hypervisor, name, placed := strings.Cut(id, "/")
	if !placed {
		hypervisor, name = "", id
	}
	if err := bmc.CheckName(name); err != nil {
		return fmt.Errorf("write NAME or HYPERVISOR/NAME: %w", err)
	}
	m.Name = types.StringValue(name)
	if hypervisor != "" {
		m.Hypervisor = types.StringValue(hypervisor)
	}
	return nil
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[bmc.Controllers], error) {
	return openControllers(ctx, at, m)
}

func openControllers(ctx context.Context, at crud.StoreContext, m *model) (*bmc.Store, error) {
	h, err := crud.OpenMachine(at.Fleet, ctx, m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	libvirt, err := at.Fleet.URI(m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	store := bmc.Open(h, m.Name.ValueString(), formatID(m), at.Claim)
	store.URI = localURI(libvirt)
	source, checksum := textOf(m.Binary.Attributes()["source"]), textOf(m.Binary.Attributes()["checksum"])
	store.Choose = func(ctx context.Context, on selfbinary.Machine) (selfbinary.Program, error) {
		return selfbinary.Choose(ctx, on, source, checksum, at.Version)
	}
	store.Exists = func(ctx context.Context, node string) error {
		return machine.FindNode(ctx, at.Fleet.Known(ctx), m.Hypervisor.ValueString(), node)
	}
	return store, nil
}

// localURI is how libvirt is called on the machine itself that a URI leads to: by the same socket, where the URI names one.
func localURI(libvirt string) string {
	const usual = "qemu:///system"
	u, err := url.Parse(libvirt)
	if err != nil || u.Query().Get("socket") == "" {
		return usual
	}
	return "qemu+unix:///system?socket=" + u.Query().Get("socket")
}

// What the attributes may hold.
var (
	controllersName = values.New("name of controllers", "rack-1", bmc.CheckName)
	systemID        = values.New("id of a system", "okd-master-01", bmc.CheckID)
	userName        = values.New("name of a user", "admin", bmc.CheckID)
	sha256Sum       = values.New("checksum", "sha256:0123…", bmc.CheckSum)
)

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Baseboard management controllers for nodes of one hypervisor, as machines of metal have: Redfish by https and IPMI 2.0 over LAN, for Ironic, Metal³, installers and fencing. " +
			"They are one program on the hypervisor's machine, this provider's own, which systemd runs as a user who may do nothing but ask libvirt. It needs systemd 247 or newer there, and a socket of libvirt that a group may use (`libvirt`, usually). " +
			"A node that they switch, boot and put media into has `power = \"external\"`; what they do to another one shows as drift. The guide on power has the rest.",
		Attributes: map[string]schema.Attribute{
			"id":          values.KeptText("The name, behind `HYPERVISOR/` where `hypervisor` is set."),
			"hypervisor":  crud.HypervisorAttribute("controllers and their nodes are", "resource"),
			"name":        controllersName.Required("Name of the controllers on the machine: at most 20 small letters, digits and dashes. Another one replaces the resource.", stringplanmodifier.RequiresReplace()),
			"address":     values.Address.Optional("Address of the hypervisor's machine where the controllers listen, for nodes that have none of their own; `0.0.0.0` is all of its addresses."),
			"shared_port": values.Port().Optional("One port of Redfish for all nodes, each a system of its own there, instead of a port each. Clients that take the first system they find need a port each."),
			"nodes": values.Objects().Keys(values.Name).Some().RequiredMapOf("The nodes, by the names of their machines, which are on the same hypervisor.", values.Attributes{
				"address":     values.Address.OptionalComputed("Address where this node's controller listens. Default: the resource's `address`."),
				"port":        values.Port().OptionalComputed("TCP port of Redfish. Default: `shared_port`, or 443."),
				"ipmi_port":   values.Between(0, values.MostPort).OptionalComputed("UDP port of IPMI, which knows no systems, so that each node has its own; 0 for no IPMI. Default: 623."),
				"system_id":   systemID.OptionalComputed("What Redfish calls the node. Its name and its UUID lead to it as well. Default: the node's name."),
				"redfish_url": schema.StringAttribute{Computed: true, MarkdownDescription: "Where the node is by Redfish: `https://ADDRESS:PORT/redfish/v1/Systems/ID`."},
				"ipmi_url":    schema.StringAttribute{Computed: true, MarkdownDescription: "Where the node is by IPMI: `ipmi://ADDRESS:PORT`; null where it is not."},
			}),
			"user": userName.Default("admin", "Name of the one user, who may do everything; IPMI takes 16 characters. Default: `admin`."),
			"password": schema.StringAttribute{
				Optional: true, Sensitive: true, Validators: []validator.String{values.Secret, stringvalidator.ExactlyOneOf(path.MatchRoot("password_wo"), path.MatchRoot("password"))},
				MarkdownDescription: "Password of the user: IPMI takes 20 bytes, some of its clients 16. It is kept in state: prefer `password_wo` where the CLI has write-only attributes. " +
					"The machine keeps a hash, and, where a node has IPMI, the password itself in a file that only root can read: IPMI cannot do without.",
			},
			"password_wo": schema.StringAttribute{
				Optional: true, Sensitive: true, WriteOnly: true, Validators: []validator.String{values.Secret, stringvalidator.AlsoRequires(path.MatchRoot("password_wo_version"))},
				MarkdownDescription: "The same, never kept in plan or state. It is written when `password_wo_version` changes.",
			},
			"password_wo_version": schema.Int64Attribute{
				Optional: true, Validators: []validator.Int64{values.Between(1, math.MaxInt32), int64validator.AlsoRequires(path.MatchRoot("password_wo"))},
				MarkdownDescription: "Version of `password_wo`, 1 or more; a new one writes the password again. A password that was changed on the machine shows as another version.",
			},
			"tls": values.OptionalObject("Certificate of https. Default: one for the nodes' addresses that nobody signed, made on the way and valid for 20 years; clients know it by `certificate_fingerprint`.", values.Attributes{
				"certificate": values.Text.Required("The certificate in PEM, and those that lead to its authority behind it."),
				"key": schema.StringAttribute{
					Optional: true, Sensitive: true, Validators: []validator.String{values.Text, stringvalidator.ConflictsWith(path.MatchRelative().AtParent().AtName("key_wo"))},
					MarkdownDescription: "Its key in PEM. It is kept in state: prefer `key_wo` where the CLI has write-only attributes.",
				},
				"key_wo": schema.StringAttribute{
					Optional: true, Sensitive: true, WriteOnly: true, Validators: []validator.String{values.Text},
					MarkdownDescription: "The same, never kept in plan or state. It is written with its certificate.",
				},
			}),
			"binary": values.OptionalObject("The program, for a machine of another system or processor than the one that Terraform runs on, or instead of this provider's own. Default: this provider's own where it runs there, otherwise that of the same release for the machine's platform; `program` in the plan says which.", values.Attributes{
				"source":   values.Line.Required("Path or https URL of a provider's program, or of a zip archive with one."),
				"checksum": sha256Sum.Required("SHA-256 of what is at the source: `sha256:` and 64 hexadecimal digits."),
			}),
			"program":                 schema.StringAttribute{Computed: true, MarkdownDescription: "Where the program on the machine comes from: `this provider`, or the path or URL of another one."},
			"program_checksum":        schema.StringAttribute{Computed: true, MarkdownDescription: "SHA-256 of that, as `sha256:` and 64 hexadecimal digits. A newer provider has another one, and its first apply installs it."},
			"certificate_fingerprint": schema.StringAttribute{Computed: true, MarkdownDescription: "SHA-256 of the certificate that the controllers show, in hexadecimal."},
			"serving":                 crud.ServingAttribute("the program"),
		},
	}
}
