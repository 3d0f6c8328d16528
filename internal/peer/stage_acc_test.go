package peer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
)

// standIn is the file name by which the test's binary is the other provider: programs ask the schema of every provider that a state names,
// also of one whose resources are all moved, and that of a resource where a `removed` block takes one out of the state.
const standIn = "terraform-provider-libvirt"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != standIn {
		os.Exit(m.Run())
	}
	if err := providerserver.Serve(context.Background(), func() provider.Provider { return other{} }, providerserver.ServeOpts{Address: "registry.terraform.io/" + peer.Provider}); err != nil {
		log.Fatal(err)
	}
}

// other is a provider whose resources are only forgotten.
type other struct{ provider.Provider }

func (other) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "libvirt"
}
func (other) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse)          {}
func (other) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}
func (other) DataSources(context.Context) []func() datasource.DataSource                        { return nil }
func (other) Resources(context.Context) (all []func() resource.Resource) {
	for _, kind := range []string{peer.CloudInit, peer.Ignition, peer.Volume} {
		all = append(all, func() resource.Resource { return forgotten{kind: kind} })
	}
	return all
}

// forgotten is a resource of the other provider's that is read, and never changed.
type forgotten struct {
	resource.Resource
	kind string
}

func (f forgotten) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = f.kind
}
func (forgotten) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{"id": schema.StringAttribute{Computed: true}}}
}
func (forgotten) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// offerStandIn has the sandbox's CLIs find the stand-in as the other provider, until the test ends.
func offerStandIn(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, standIn)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(os.Getenv("TF_CLI_CONFIG_FILE"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "cli.tfrc")
	text = []byte(strings.Replace(string(text), "dev_overrides {", fmt.Sprintf("dev_overrides {\n    %q = %q", peer.Provider, dir), 1))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TF_CLI_CONFIG_FILE", file)
}

// tfstate is a state file as far as it is looked into.
type tfstate struct {
	Version   int              `json:"version"`
	Program   string           `json:"terraform_version"`
	Serial    int              `json:"serial"`
	Lineage   string           `json:"lineage"`
	Outputs   map[string]any   `json:"outputs"`
	Resources []map[string]any `json:"resources"`
}

// readState reads a state that the other provider made.
func readState(t *testing.T, path ...string) tfstate {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	var s tfstate
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// handOver writes resources of that state into a state of a CLI, those that are kept.
func handOver(t *testing.T, s *acctest.State, from tfstate, kept func(kind, name string) bool) {
	t.Helper()
	from.Resources = slices.DeleteFunc(slices.Clone(from.Resources), func(r map[string]any) bool {
		return r["mode"] != "managed" || !kept(r["type"].(string), r["name"].(string))
	})
	from.Outputs = map[string]any{}
	text, err := json.MarshalIndent(from, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "terraform.tfstate"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// programs are those that move resources across types: the oldest Terraform that the tests have, OpenTofu, and a Terraform that has
// identities.
var programs = []string{"terraform", "tofu", "terraform-1.14"}

// handOverAll has each program move all resources of a type of the state that a version left, in a hypervisor as that had it, to
// those of a type under the same names, which is told by the configuration; and the first program those of the state as that version had
// refreshed it, where that says more. Nothing may be planned, applied or written but the state.
func handOverAll(t *testing.T, version, kind, to, config string) {
	t.Helper()
	acctest.InSandbox(t)
	t.Run(version, func(t *testing.T) {
		offerStandIn(t)
		stage(t, version)
		if kind == peer.Domain {
			stageDomains(t, version)
		}
		before := look(t)
		run := func(name, program, file string) {
			t.Run(name, func(t *testing.T) {
				t.Setenv("TF_ACC_TERRAFORM_PATH", program)
				s := acctest.NewState(t)
				moved := acctest.Provider() + config
				handOver(t, s, readState(t, version, file), func(k, name string) bool {
					if k != kind || !hasResource(config, to, name) {
						return false
					}
					moved += moveBlock(k, to, name)
					return true
				})
				s.Write(moved)
				settle(t, s)
				if after := look(t); after != before {
					t.Errorf("what libvirt holds is changed: %s", cmp.Diff(before, after))
				}
			})
		}
		for _, program := range programs {
			run(program, program, "terraform.tfstate")
		}
		if version == "0.8.3" {
			run("refreshed", programs[0], "terraform.refreshed.tfstate")
		}
	})
}

// hasResource says whether a configuration has a resource of a type and a name.
func hasResource(config, kind, name string) bool {
	return strings.Contains(config, fmt.Sprintf("resource %q %q {", kind, name))
}

// becomes lists what resources of the other provider's types may be here.
var becomes = map[string][]string{
	peer.Domain: {"virtcluster_node"}, peer.Network: {"virtcluster_network"}, peer.Pool: {"virtcluster_storage_pool"},
	peer.Volume: {"virtcluster_volume", "virtcluster_image"},
}

// handOverEverything writes the whole state that a version left into a state of a CLI, and returns the blocks that move all of it to what a
// configuration has of the same names, and take the rest out of the state.
func handOverEverything(t *testing.T, s *acctest.State, version, config string) (blocks string) {
	t.Helper()
	handOver(t, s, readState(t, version, "terraform.tfstate"), func(kind, name string) bool {
		at := slices.IndexFunc(becomes[kind], func(to string) bool { return hasResource(config, to, name) })
		if at < 0 {
			blocks += fmt.Sprintf("removed {\n  from = %s.%s\n  lifecycle {\n    destroy = false\n  }\n}\n", kind, name)
			return true
		}
		blocks += moveBlock(kind, becomes[kind][at], name)
		return true
	})
	return blocks
}

// moveBlock moves a resource to one of another type and the same name.
func moveBlock(from, to, name string) string {
	return fmt.Sprintf("moved {\n  from = %s.%s\n  to   = %s.%s\n}\n", from, name, to, name)
}

// settle wants a plan that moves and does nothing else, applies it, and wants a plan without anything.
func settle(t *testing.T, s *acctest.State) {
	t.Helper()
	out := s.Run("plan", "-out=moves.plan")
	if !strings.Contains(out, "0 to add, 0 to change, 0 to destroy") || !strings.Contains(out, "has moved to virtcluster_") {
		t.Fatalf("the plan is not to move alone:\n%s", out)
	}
	s.Run("apply", "moves.plan")
	s.Settled()
}

// look returns what libvirt holds: the XML of everything, running and as it is defined, without what changes by itself.
func look(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, list := range [][]string{{"pool-list", "pool-dumpxml"}, {"net-list", "net-dumpxml"}, {"list", "dumpxml"}} {
		for _, name := range strings.Fields(acctest.Virsh(t, list[0], "--all", "--name")) {
			defined := acctest.Virsh(t, list[1], name, "--inactive")
			running := guestsMemory.ReplaceAllString(acctest.Virsh(t, list[1], name), "")
			fmt.Fprintln(&all, list[1], name, changing.ReplaceAllString(defined, ""), changing.ReplaceAllString(running, ""))
		}
	}
	return all.String()
}

// changing is what libvirt's XML says of the room in a pool, and of whether a guest's agent has begun.
var changing = regexp.MustCompile(`(?m)^ *<(allocation|available|capacity) .*\n| state='(dis)?connected'`)

// guestsMemory is what a running guest has of its memory, which it gives back in its own time.
var guestsMemory = regexp.MustCompile(`(?m)^ *<currentMemory .*\n`)

// stage has libvirt hold what it held when a version of the other provider had applied its configuration, until the test ends.
func stage(t *testing.T, version string) {
	t.Helper()
	acctest.Run(t, "mkdir", "-p", "/srv/share", "/srv/tftp", "/srv/images")
	acctest.Run(t, "ip", "link", "add", "br0", "type", "bridge")
	t.Cleanup(func() { acctest.Run(t, "ip", "link", "del", "br0") })
	acctest.Run(t, "ip", "link", "set", "br0", "up")
	for _, file := range testdata(t, version, "pools", "*.xml") {
		name := nameOf(file)
		acctest.Virsh(t, "pool-define", file)
		acctest.Virsh(t, "pool-build", name)
		acctest.Virsh(t, "pool-start", name)
		acctest.Virsh(t, "pool-autostart", name)
		t.Cleanup(func() {
			acctest.Virsh(t, "pool-destroy", name)
			acctest.Virsh(t, "pool-undefine", name)
		})
	}
	stageVolumes(t, version)
	autostarted := readObjects(t, version)
	for _, file := range testdata(t, version, "networks", "*.xml") {
		name := nameOf(file)
		acctest.Virsh(t, "net-define", file)
		acctest.Virsh(t, "net-start", name)
		t.Cleanup(func() {
			acctest.Virsh(t, "net-destroy", name)
			acctest.Virsh(t, "net-undefine", name)
		})
		if autostarted[name] == "yes" {
			acctest.Virsh(t, "net-autostart", name)
		}
	}
}

// startedWithHost are the domains of each version that its configuration has start with the hypervisor, which no XML says.
var startedWithHost = map[string][]string{"0.8.3": {"db"}, "0.9.7": {"db", "master-0", "master-1"}}

// stageDomains defines the domains, and starts those that ran.
func stageDomains(t *testing.T, version string) {
	t.Helper()
	writeFiles(t, map[string][]byte{"/srv/images/tools.iso": make([]byte, 4096), "/srv/boot/initrd": make([]byte, 512), "/srv/boot/vmlinuz": idleKernel()})
	did := readObjects(t, version)
	for _, file := range testdata(t, version, "domains", "*.xml") {
		name := nameOf(file)
		define(t, version, name)
		t.Cleanup(func() { acctest.Virsh(t, "undefine", name, "--nvram") })
		if slices.Contains(startedWithHost[version], name) {
			acctest.Virsh(t, "autostart", name)
		}
		if did[name] == "running" {
			acctest.Virsh(t, "start", name)
			t.Cleanup(func() {
				if slices.Contains(strings.Fields(acctest.Virsh(t, "list", "--name")), name) {
					acctest.Virsh(t, "destroy", name)
				}
			})
		}
	}
}

func define(t *testing.T, version, name string) {
	t.Helper()
	acctest.Virsh(t, "define", filepath.Join("testdata", version, "domains", name+".xml"))
}

// idleKernel is what QEMU takes for a kernel (the header is in Linux' Documentation/arch/x86/boot.rst): its setup stops the processor.
func idleKernel() []byte {
	k := make([]byte, 4096)
	k[0x1f1] = 1                                    // one sector of setup
	copy(k[0x1fe:], []byte{0x55, 0xaa})             // the boot flag
	copy(k[0x200:], []byte{0xeb, 0x66})             // to 0x268
	copy(k[0x202:], "HdrS\x02\x02")                 // protocol 2.02
	k[0x211] = 1                                    // loaded high
	copy(k[0x268:], []byte{0xfa, 0xf4, 0xeb, 0xfd}) // cli; hlt; again
	return k
}

func writeFiles(t *testing.T, files map[string][]byte) {
	t.Helper()
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// stageVolumes makes the volumes: an overlay after what it is an overlay of.
func stageVolumes(t *testing.T, version string) {
	t.Helper()
	var overlays []string
	create := func(file, document string) {
		pool := filepath.Base(filepath.Dir(file))
		made := filepath.Join(t.TempDir(), "volume.xml")
		if err := os.WriteFile(made, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		acctest.Virsh(t, "vol-create", pool, made)
		t.Cleanup(func() { acctest.Virsh(t, "vol-delete", nameOf(file), pool) })
		if name := nameOf(file); strings.HasPrefix(name, "plain") || strings.HasPrefix(name, "tiny-base") {
			acctest.Virsh(t, "vol-upload", name, os.Getenv("SANDBOX_TINY_IMAGE"), "--pool", pool)
		}
	}
	for _, file := range testdata(t, version, "volumes", "*", "*.xml") {
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := allocated.ReplaceAllString(string(document), "")
		if strings.Contains(text, "<backingStore>") {
			overlays = append(overlays, file, text)
			continue
		}
		create(file, text)
	}
	for pair := range slices.Chunk(overlays, 2) {
		create(pair[0], pair[1])
	}
}

// allocated is what gives some volumes another size than they had.
var allocated = regexp.MustCompile(`(?m)^ *<allocation .*\n`)

// readObjects returns which networks and pools libvirt started by itself, "yes" or "no", and what domains did: "running" or "shut".
func readObjects(t *testing.T, version string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", version, "objects.txt"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		switch words := strings.Fields(line); {
		case len(words) >= 3 && words[1] == "active":
			all[words[0]] = words[2]
		case len(words) >= 3:
			all[words[1]] = words[2]
		}
	}
	return all
}

// nameOf is the name of what a file has the XML of.
func nameOf(file string) string { return strings.TrimSuffix(filepath.Base(file), ".xml") }

// configured reads a configuration of this provider for what a version of the other one made.
func configured(t *testing.T, version, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", version, "virtcluster", file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "IMAGE", os.Getenv("SANDBOX_TINY_IMAGE"))
}

// testdata lists files of a version.
func testdata(t *testing.T, version string, pattern ...string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(append([]string{"testdata", version}, pattern...)...))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %v of %s: %v", pattern, version, err)
	}
	return files
}
