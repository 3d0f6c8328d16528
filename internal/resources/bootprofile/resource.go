// Package bootprofile is the resource virtcluster_boot_profile.
package bootprofile

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/netboot"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like: that of the boot server, and the name.
const form = "SERVICE_NODE#boot/NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, netboot.Profile]{
		Name:   "boot_profile",
		Noun:   "boot profile",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"boot_server", "name"},
		ID:     formatID,
		Split: func(m *model, id string) error {
			var node types.String
			if err := hostattr.SplitName(id, form, &node, &m.Name); err != nil {
				return err
			}
			m.BootServer = types.StringValue(hostattr.JoinID(node, "boot"))
			return nil
		},
		Spec: func(ctx context.Context, m *model) (netboot.Profile, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill: func(ctx context.Context, m *model, got netboot.Profile) diag.Diagnostics {
			return m.fillModel(ctx, got)
		},
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[netboot.Profile], error) {
			return openProfile(ctx, at, m)
		},
		Listing: crud.Listing{Across: listProfiles},
		Plan:    planChange,
	})
}

// listProfiles lists the profiles on the boot servers of machines: once where two have one.
func listProfiles(ctx context.Context, at crud.StoreContext, machines []string) (ids []string, err error) {
	for _, machine := range machines {
		t, err := crud.Snapshot(ctx, at, machine, netboot.NewDaemon(""))
		if part.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		names, servers := netboot.ListProfiles(t, hostattr.JoinID(types.StringValue(machine), "boot"))
		for n, name := range names {
			id := formatID(&model{BootServer: types.StringValue(servers[n]), Name: types.StringValue(name)})
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

func formatID(m *model) string {
	return host.ShortenReferences(m.BootServer.ValueString()) + "/" + m.Name.ValueString()
}

func openProfile(ctx context.Context, at crud.StoreContext, m *model) (*netboot.ProfileStore, error) {
	open := func(ctx context.Context, claim owner.Claim, bootServer string) (*part.Part[netboot.Profile], error) {
		node, err := netboot.SplitServer(bootServer)
		if err != nil {
			return nil, err
		}
		of := at
		of.Claim = claim
		return crud.OpenPart(ctx, of, node, netboot.NewProfilePart(m.Name.ValueString(), formatID(m), claim.Mark()))
	}
	s := netboot.OpenProfile(at.Claim, netboot.ProfileStore{OpenOther: open, FirstServer: m.BootServer.ValueString(), StandbyServer: m.Standby.ValueString()})
	var err error
	if s.First, err = open(ctx, at.Claim, s.FirstServer); err == nil && s.StandbyServer != "" {
		s.Standby, err = open(ctx, at.Claim, s.StandbyServer)
	}
	return s, err
}

// What the attributes may hold.
var (
	profileName = values.New("name of a profile", "worker-1", netboot.CheckName)
	bootServer  = values.New("id of a boot server", "ssh://root@10.0.0.100#boot", func(text string) error { _, err := netboot.SplitServer(text); return err })
	url         = values.New("URL", "http://10.0.0.100:8080/vmlinuz", netboot.CheckURL)
)

func resourceSchema(context.Context) schema.Schema {
	config := func(description string) schema.Attribute {
		return schema.StringAttribute{Optional: true, Sensitive: true, Validators: []validator.String{values.Text}, MarkdownDescription: description + " At most one kind of configuration is written. Default: none."}
	}
	return schema.Schema{
		MarkdownDescription: "What one machine boots from the network: a kernel, its initial RAM disks, and the configuration that its installer fetches, all of them by way of the boot server, which sees what arrived. " +
			"With `once`, which is the default, the machine is installed when it has had all of them, or when it reports back (`wait_for_report`): from then on it is told at once to boot from its disk, however often it asks, until `generation` changes. " +
			"What is served is not secret on the segment: whoever asks in the machine's name gets it.",
		Attributes: map[string]schema.Attribute{
			"id":          hostattr.ID(form),
			"boot_server": bootServer.Required("The `id` of the `virtcluster_boot_server` that the machine boots from. Another one replaces the resource, and the machine counts as not installed then.", hostattr.OtherMachineReplaces()...),
			"standby":     bootServer.Optional("The `id` of a second boot server that has the profile too, on another service node; the two are `peers`. Default: none.", hostattr.KeepReference()),
			"name":        profileName.Required("Name of the profile: lower-case letters, digits and dashes. Another one replaces the resource, and the machine counts as not installed then.", stringplanmodifier.RequiresReplace()),
			"mac": schema.StringAttribute{
				Optional: true, Computed: true, Validators: []validator.String{values.MAC, stringvalidator.ExactlyOneOf(path.MatchRoot("mac"), path.MatchRoot("node"))}, PlanModifiers: []planmodifier.String{values.MAC.KeepSpelling()},
				MarkdownDescription: "MAC address of the card that the machine boots from, or `node`. A machine has one profile.",
			},
			"node":   values.Name.Optional("Name of the `virtcluster_node` that boots, in place of `mac`: by its first interface, whose address is the one that the plan or a hypervisor has, or will have where the node writes none. A name says nothing of the order: a node that is to boot this when it is made has the profile among its `depends_on`."),
			"kernel": url.Required("URL of the kernel (`http` or `https`), which the boot server fetches when the machine does."),
			"initrd": values.Each(url).OptionalList("URLs of initial RAM disks, in order. Default: none."),
			"cmdline": values.Free.Optional("The kernel's command line. `{file}` becomes the URL of the configuration, `{base}` that of the machine's directory, and `{report_url}` that of `report_url`. Where neither of the first two stands there, what the kind of configuration needs is added: " +
				"`ignition.config.url`, `ds=nocloud`, `inst.ks` or `talos.config`. Default: none."),
			"ignition": config("Ignition, as JSON."),
			"butane":   config("Butane, which becomes Ignition."),
			"cloud_init": values.OptionalObject("cloud-init's configuration, for its NoCloud data source. Default: none.", values.Attributes{
				"user_data": schema.StringAttribute{Required: true, Sensitive: true, Validators: []validator.String{values.Text}, MarkdownDescription: "User data."},
				"meta_data": values.Text.Optional("Meta data. Default: `instance-id` with the name and the generation."),
			}),
			"kickstart":       config("Anaconda's kickstart."),
			"talos":           config("Talos' machine configuration."),
			"once":            values.Flag.Default(true, "Whether the machine boots this until it is installed, and from its disk afterwards. Otherwise it boots this each time. Default: `true`."),
			"wait_for_report": values.Flag.Default(false, "Whether the machine is installed only once it says so, by a request to `report_url` such as `curl -X POST`. Otherwise it is when it has had all files. Default: `false`."),
			"generation":      values.Between(0, 1<<31-1).OrZero().Default(1, "Another number has the machine installed again at its next boot from the network. Default: 1."),
			"installed":       schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the machine is installed, in this generation."},
			"last_seen":       schema.StringAttribute{Computed: true, MarkdownDescription: "When the machine asked the boot server for something last, in UTC (RFC 3339); empty where it never did."},
			"report_url":      schema.StringAttribute{Computed: true, MarkdownDescription: "Where the machine says that it is installed, by any method."},
			"serving":         crud.ServingAttribute("the boot server"),
		},
	}
}
