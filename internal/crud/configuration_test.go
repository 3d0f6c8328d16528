package crud

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// newHouseSchema is a schema with an attribute of each kind.
func newHouseSchema() schema.Schema {
	return schema.Schema{Attributes: LeaveOut(map[string]schema.Attribute{
		"id":         schema.StringAttribute{Computed: true},
		"hypervisor": schema.StringAttribute{Optional: true},
		"name":       schema.StringAttribute{Required: true},
		"colour":     schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("red")},
		"floors":     schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(2)},
		"lived_in":   schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true)},
		"height":     schema.Int64Attribute{Optional: true, Computed: true},
		"key":        schema.StringAttribute{Optional: true, Sensitive: true},
		"key_wo":     schema.StringAttribute{Optional: true, WriteOnly: true},
		"guests":     schema.ListAttribute{Optional: true, ElementType: types.StringType},
		"labels":     schema.MapAttribute{Optional: true, ElementType: types.ListType{ElemType: types.StringType}},
		"roof": schema.SingleNestedAttribute{Optional: true, Attributes: map[string]schema.Attribute{
			"tiles":  schema.Int64Attribute{Required: true},
			"colour": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("red")},
			"made":   schema.StringAttribute{Computed: true},
		}},
		"cellar": schema.SingleNestedAttribute{Optional: true, Attributes: map[string]schema.Attribute{
			"code": schema.StringAttribute{Optional: true, Sensitive: true},
			"deep": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false)},
		}},
		"doors": schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"width": schema.Int64Attribute{Optional: true},
		}}},
		"rooms": schema.MapNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"beds": schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(1)},
		}}},
	})}
}

// said is a value at a place.
type said struct {
	at path.Path
	v  any
}

// build makes a state of a house of what is said of it; all else is null.
func build(t *testing.T, all ...said) tfsdk.State {
	t.Helper()
	s := newHouseSchema()
	state := tfsdk.State{Schema: s, Raw: tftypes.NewValue(s.Type().TerraformType(t.Context()), nil)}
	for _, x := range all {
		if diags := state.SetAttribute(t.Context(), x.at, x.v); diags.HasError() {
			t.Fatal(diags)
		}
	}
	return state
}

// resources is the text of a configuration's resources.
func resources(t *testing.T, c *Configuration) string {
	t.Helper()
	text, err := c.Resources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func render(t *testing.T, all ...Found) (c *Configuration, secrets []string) {
	t.Helper()
	c = NewConfiguration()
	for _, f := range all {
		_, told, err := c.Add(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, told...)
	}
	if _, diags := hclparse.NewParser().ParseHCL([]byte(c.ImportBlocks()+resources(t, c)), "written.tf"); diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, resources(t, c))
	}
	return c, secrets
}

func TestWhatIsThereIsWrittenAsPeopleWriteIt(t *testing.T) {
	t.Parallel()
	at := path.Root
	state := build(
		t, said{at("id"), "h-1"}, said{at("name"), "villa"}, said{at("hypervisor"), "kvm1"}, said{at("colour"), "red"}, said{at("floors"), int64(3)},
		said{at("lived_in"), true}, said{at("height"), int64(12)}, said{at("key"), "s3cret"}, said{at("guests"), []string{"Ann ${x} \"B\"", "Bob\nC"}},
		said{at("labels"), map[string][]string{"api.example": {"a"}, "b": {}}}, said{at("roof").AtName("tiles"), int64(400)}, said{at("roof").AtName("colour"), "red"},
		said{at("roof").AtName("made"), "1900"}, said{at("cellar").AtName("deep"), false}, said{at("cellar").AtName("code"), "1234"},
		said{at("doors").AtListIndex(0).AtName("width"), int64(90)}, said{at("rooms").AtMapKey("blue").AtName("beds"), int64(1)}, said{at("rooms").AtMapKey("red").AtName("beds"), int64(2)},
	)
	c, secrets := render(t, Found{Type: "virtcluster_house", Name: "villa", ImportID: "kvm1/villa", State: state})
	const want = `resource "virtcluster_house" "villa" {
  name       = "villa"
  hypervisor = "kvm1"
  cellar     = {}
  doors = [{
    width = 90
  }]
  floors = 3
  guests = ["Ann $${x} \"B\"", "Bob\nC"]
  height = 12
  labels = {
    "api.example" = ["a"]
    b             = []
  }
  roof = {
    tiles = 400
  }
  rooms = {
    blue = {}
    red = {
      beds = 2
    }
  }
}
`
	if got := resources(t, c); got != want {
		t.Errorf("it is written as\n%s", got)
	}
	if got, want := c.ImportBlocks(), "import {\n  to = virtcluster_house.villa\n  id = \"kvm1/villa\"\n}\n"; got != want {
		t.Errorf("it is imported by\n%s", got)
	}
	if got := strings.Join(secrets, " "); got != "cellar.code key" && got != "key cellar.code" {
		t.Errorf("the secrets are %s", got)
	}
}

func TestLabelsAreIdentifiersAndTold(t *testing.T) {
	t.Parallel()
	c := NewConfiguration()
	for _, x := range []struct{ name, want string }{
		{"villa", "virtcluster_house.villa"}, {"villa", "virtcluster_house.villa_2"}, {"villa_2", "virtcluster_house.villa_2_2"}, {"pool/data.qcow2", "virtcluster_house.pool_data_qcow2"},
		{"10.in-addr.arpa", "virtcluster_house.house_10_in-addr_arpa"}, {"-x", "virtcluster_house.house_-x"}, {"…", "virtcluster_house.house"}, {"", "virtcluster_house.house_2"},
	} {
		t.Run(x.want, func(t *testing.T) {
			got, _, err := c.Add(t.Context(), Found{Type: "virtcluster_house", Name: x.name, State: build(t, said{path.Root("name"), x.name})})
			if err != nil || got != x.want {
				t.Errorf("%q is at %s: %v", x.name, got, err)
			}
		})
	}
}

func TestAStateWithoutASchemaOfAResourceIsAnError(t *testing.T) {
	t.Parallel()
	if _, _, err := NewConfiguration().Add(t.Context(), Found{Type: "virtcluster_house", Err: errors.New("x")}); err == nil {
		t.Error("it is written")
	}
}

func TestWhatHasToBeWrittenAndIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	for place, lacking := range map[string]tfsdk.State{
		"name":       build(t, said{path.Root("id"), "h-1"}),
		"roof.tiles": build(t, said{path.Root("name"), "villa"}, said{path.Root("roof").AtName("colour"), "blue"}),
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			c := NewConfiguration()
			_, _, err := c.Add(t.Context(), Found{Type: "virtcluster_house", Name: "villa", ImportID: "villa", State: lacking})
			if err == nil || !strings.Contains(err.Error(), place+" has to be written") || c.ImportBlocks() != "" {
				t.Errorf("%v, and it is imported by\n%s", err, c.ImportBlocks())
			}
		})
	}
}

// onHypervisor is something of a type at a place, of whose attributes a few are written.
func onHypervisor(t *testing.T, kind, name, hypervisor string, all ...said) Found {
	t.Helper()
	if hypervisor != "" {
		all = append(all, said{path.Root("hypervisor"), hypervisor})
	}
	return makeFound(t, kind, name, map[string]schema.Attribute{
		"hypervisor": schema.StringAttribute{Optional: true},
		"network":    schema.StringAttribute{Optional: true}, "pool": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("default")},
		"disks": schema.MapNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"volume": schema.StringAttribute{Optional: true},
		}}},
		"ovn_network": schema.StringAttribute{Optional: true},
	}, all...)
}

// inOVN is something of a type in a database of OVN.
func inOVN(t *testing.T, kind, name, ovn string, networks ...string) Found {
	t.Helper()
	all := []said{{path.Root("ovn"), ovn}}
	if networks != nil {
		all = append(all, said{path.Root("networks"), networks})
	}
	return makeFound(t, kind, name, map[string]schema.Attribute{
		"ovn": schema.StringAttribute{Optional: true}, "networks": schema.SetAttribute{Optional: true, ElementType: types.StringType},
	}, all...)
}

// makeFound is something of a type that has some attributes, with a name and an id.
func makeFound(t *testing.T, kind, name string, attributes map[string]schema.Attribute, all ...said) Found {
	t.Helper()
	attributes["id"], attributes["name"] = schema.StringAttribute{Computed: true}, schema.StringAttribute{Required: true}
	s := schema.Schema{Attributes: attributes}
	state := tfsdk.State{Schema: s, Raw: tftypes.NewValue(s.Type().TerraformType(t.Context()), nil)}
	for _, x := range append(all, said{path.Root("name"), name}, said{path.Root("id"), "/srv/" + name}) {
		if diags := state.SetAttribute(t.Context(), x.at, x.v); diags.HasError() {
			t.Fatal(diags)
		}
	}
	return Found{Type: "virtcluster_" + kind, Name: name, ImportID: name, State: state}
}

func TestWhatIsWrittenTooIsReferredTo(t *testing.T) {
	t.Parallel()
	at := path.Root
	c, _ := render(
		t,
		onHypervisor(t, "node", "vm", "", said{at("network"), "lab"}, said{at("pool"), "default"}, said{at("disks").AtMapKey("data").AtName("volume"), "/srv/data"}),
		onHypervisor(t, "node", "far", "kvm1", said{at("network"), "lab"}, said{at("pool"), "other"}),
		onHypervisor(t, "network", "lab", "", said{at("network"), "lab"}),
		onHypervisor(t, "storage_pool", "default", ""),
		onHypervisor(t, "volume", "data", ""),
		inOVN(t, "ovn_network", "nodes", "local:"),
		inOVN(t, "ovn_router", "lab", "local:", "nodes", "persons"),
		inOVN(t, "ovn_router", "other", "elsewhere", "nodes"),
		onHypervisor(t, "node", "guest", "kvm1", said{at("ovn_network"), "/srv/nodes"}),
	)
	const want = `resource "virtcluster_node" "vm" {
  name = "vm"
  disks = {
    data = {
      volume = virtcluster_volume.data.id
    }
  }
  network = virtcluster_network.lab.name
  pool    = virtcluster_storage_pool.default.name
}

resource "virtcluster_node" "far" {
  name       = "far"
  hypervisor = "kvm1"
  network    = "lab"
  pool       = "other"
}

resource "virtcluster_network" "lab" {
  name    = "lab"
  network = "lab"
}

resource "virtcluster_storage_pool" "default" {
  name = "default"
}

resource "virtcluster_volume" "data" {
  name = "data"
}

resource "virtcluster_ovn_network" "nodes" {
  name = "nodes"
  ovn  = "local:"
}

resource "virtcluster_ovn_router" "lab" {
  name     = "lab"
  networks = [virtcluster_ovn_network.nodes.name, "persons"]
  ovn      = "local:"
}

resource "virtcluster_ovn_router" "other" {
  name     = "other"
  networks = ["nodes"]
  ovn      = "elsewhere"
}

resource "virtcluster_node" "guest" {
  name        = "guest"
  hypervisor  = "kvm1"
  ovn_network = virtcluster_ovn_network.nodes.id
}
`
	if got := resources(t, c); got != want {
		t.Errorf("it is written as\n%s", got)
	}
}

// inView is something of a type in a view of a server of names.
func inView(t *testing.T, kind, name, view string, all ...said) Found {
	t.Helper()
	return makeFound(t, kind, name, map[string]schema.Attribute{
		"service_node": schema.StringAttribute{Optional: true}, "view": schema.StringAttribute{Optional: true}, "zone": schema.StringAttribute{Optional: true},
	}, append(all, said{path.Root("service_node"), "local:"}, said{path.Root("view"), view})...)
}

// A zone of one name may be in several views: what is in it refers to that of its own.
func TestAZoneIsReferredToInItsOwnView(t *testing.T) {
	t.Parallel()
	zone := said{path.Root("zone"), "okd"}
	c, _ := render(
		t, inView(t, "dns_zone", "okd", "inside"), inView(t, "dns_zone", "okd", "outside"),
		inView(t, "dns_record_set", "in", "inside", zone), inView(t, "dns_record_set", "out", "outside", zone), inView(t, "dns_record_set", "none", "third", zone),
	)
	text := resources(t, c)
	for label, want := range map[string]string{"in": "virtcluster_dns_zone.okd.name", "out": "virtcluster_dns_zone.okd_2.name", "none": `"okd"`} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			_, block, _ := strings.Cut(text, `"`+label+`" {`)
			if block, _, _ = strings.Cut(block, "}"); !regexp.MustCompile(`zone\s+= ` + regexp.QuoteMeta(want)).MatchString(block) {
				t.Errorf("it is not in %s: %s", want, block)
			}
		})
	}
}
