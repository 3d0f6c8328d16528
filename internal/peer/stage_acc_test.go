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

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
)

// standIn is the file name by which the test's binary is the other provider: programs ask the schema of every provider that a state names,
// also of one whose resources are all moved, and of its resources none.
const standIn = "terraform-provider-libvirt"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != standIn {
		os.Exit(m.Run())
	}
	if err := providerserver.Serve(context.Background(), func() provider.Provider { return other{} }, providerserver.ServeOpts{Address: "registry.terraform.io/" + peer.Provider}); err != nil {
		log.Fatal(err)
	}
}

// other is a provider without resources.
type other struct{ provider.Provider }

func (other) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "libvirt"
}
func (other) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse)          {}
func (other) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}
func (other) Resources(context.Context) []func() resource.Resource                              { return nil }
func (other) DataSources(context.Context) []func() datasource.DataSource                        { return nil }

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
// those of a type under the same names, which is told by the configuration. Nothing may be planned, applied or written but the state.
func handOverAll(t *testing.T, version, kind, to, config string) {
	t.Helper()
	acctest.InSandbox(t)
	t.Run(version, func(t *testing.T) {
		offerStandIn(t)
		stage(t, version)
		before := look(t)
		from := readState(t, version, "terraform.tfstate")
		for _, program := range programs {
			t.Run(program, func(t *testing.T) {
				t.Setenv("TF_ACC_TERRAFORM_PATH", program)
				s := acctest.NewState(t)
				moved := acctest.Provider() + config
				handOver(t, s, from, func(k, name string) bool {
					if k != kind || !strings.Contains(config, fmt.Sprintf("resource %q %q {", to, name)) {
						return false
					}
					moved += fmt.Sprintf("moved {\n  from = %s.%s\n  to   = %s.%s\n}\n", k, name, to, name)
					return true
				})
				s.Write(moved)
				settle(t, s)
				if after := look(t); after != before {
					t.Errorf("what libvirt holds is changed: %s", cmp.Diff(before, after))
				}
			})
		}
	})
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
			for _, flag := range []string{"", "--inactive"} {
				fmt.Fprintln(&all, list[1], name, flag, changing.ReplaceAllString(acctest.Virsh(t, slices.DeleteFunc([]string{list[1], name, flag}, func(s string) bool { return s == "" })...), ""))
			}
		}
	}
	return all.String()
}

// changing is what libvirt's XML says of the room in a pool.
var changing = regexp.MustCompile(`(?m)^ *<(allocation|available|capacity) .*\n`)

// stage has libvirt hold what it held when a version of the other provider had applied its configuration, until the test ends.
func stage(t *testing.T, version string) {
	t.Helper()
	for _, file := range testdata(t, version, "pools", "*.xml") {
		name := strings.TrimSuffix(filepath.Base(file), ".xml")
		acctest.Virsh(t, "pool-define", file)
		acctest.Virsh(t, "pool-build", name)
		acctest.Virsh(t, "pool-start", name)
		acctest.Virsh(t, "pool-autostart", name)
		t.Cleanup(func() {
			acctest.Virsh(t, "pool-destroy", name)
			acctest.Virsh(t, "pool-undefine", name)
		})
	}
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
