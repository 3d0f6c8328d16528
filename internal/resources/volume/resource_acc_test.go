package volume_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

const (
	address = "virtcluster_volume.v"
	poolDir = "/var/lib/libvirt/volume-test"
)

// config is a volume "v" in a pool "volumes", beside an image "base" of 1 GiB or less.
func config(body string) string {
	return base() + "resource \"virtcluster_volume\" \"v\" {\n  name = \"v\"\n  pool = virtcluster_storage_pool.p.name\n" + body + "}\n"
}

func base() string {
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_storage_pool" "p" {
  name = "volumes"
  path = %q
}
resource "virtcluster_image" "base" {
  name   = "base"
  pool   = virtcluster_storage_pool.p.name
  source = %q
}
`, poolDir, os.Getenv("SANDBOX_TINY_IMAGE"))
}

var run = acctest.Run

// is checks what qemu-img says of the volume.
func is(t *testing.T, want ...string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		got := run(t, "qemu-img", "info", "-U", poolDir+"/v")
		for _, w := range want {
			if !regexp.MustCompile(w).MatchString(got) {
				t.Errorf("qemu-img says otherwise than %s:\n%s", w, got)
			}
		}
		return nil
	}
}

func action(a plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, a)}}
}

func TestAccVolume(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("  size_gib = 2\n"), Check: resource.ComposeTestCheckFunc(is(t, `file format: qcow2`, `virtual size: 2 GiB`), resource.TestCheckResourceAttr(address, "id", poolDir+"/v"))},
			{ResourceName: address, ImportState: true, ImportStateId: "volumes/v", ImportStateVerify: true},
			{ResourceName: address, ImportState: true, ImportStateId: poolDir + "/v", ImportStateVerify: true},
			{Config: config("  size_gib = 3\n"), ConfigPlanChecks: action(plancheck.ResourceActionUpdate), Check: is(t, `virtual size: 3 GiB`)},
			{Config: config("  size_gib = 2\n"), PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)Cannot shrink volume.*size_gib\s+=\s+3`)},
			{ // drift: grown by half a GiB by hand does not count; the next growth takes it in
				PreConfig: func() { run(t, "virsh", "vol-resize", "--pool", "volumes", "v", "3584MiB") },
				Config:    config("  size_gib = 4\n"), Check: is(t, `virtual size: 4 GiB`),
			},
			{Config: config("  size_gib = 1\n  format = \"raw\"\n"), ConfigPlanChecks: action(plancheck.ResourceActionReplace), Check: is(t, `file format: raw`, `virtual size: 1 GiB`)},
			{Config: config("  size_gib = 2\n  format = \"raw\"\n"), ConfigPlanChecks: action(plancheck.ResourceActionUpdate), Check: is(t, `virtual size: 2 GiB`)},
			{Config: config("  image = virtcluster_image.base.id\n"), ConfigPlanChecks: action(plancheck.ResourceActionReplace), Check: is(t, `backing file: `+poolDir+`/base`, `backing file format: qcow2`, `virtual size: 1 GiB`)},
			{Config: config("  image = \"base\"\n"), PlanOnly: true}, // the same image, by its name
			{Config: config("  image = virtcluster_image.base.id\n  size_gib = 5\n"), ConfigPlanChecks: action(plancheck.ResourceActionUpdate), Check: is(t, `virtual size: 5 GiB`)},
			{ResourceName: address, ImportState: true, ImportStateId: "volumes/v", ImportStateVerify: true},
			{ // drift: gone
				PreConfig: func() { run(t, "rm", poolDir+"/v") },
				Config:    config("  image = virtcluster_image.base.id\n  size_gib = 5\n"), ConfigPlanChecks: action(plancheck.ResourceActionCreate), Check: is(t, `virtual size: 5 GiB`),
			},
		},
	})
	if _, err := os.Stat(poolDir); !os.IsNotExist(err) {
		t.Errorf("the destroy left something: %v", err)
	}
}

func TestAccVolumeAndOneOfItsName(t *testing.T) {
	acctest.InSandbox(t)
	fresh := func() { acctest.Run(t, "qemu-img", "create", "-f", "qcow2", poolDir+"/v", "2G") }
	mark := func(workspace string) {
		acctest.Run(t, "sh", "-c", "rm -f "+poolDir+"/v.virtcluster-leftbehind-*")
		if workspace != "" {
			acctest.Run(t, "touch", poolDir+"/v.virtcluster-leftbehind-"+workspace)
		}
		acctest.Virsh(t, "pool-refresh", "volumes")
	}
	unfinished := owner.Workspace() + "-" + acctest.EndedRun
	const somebodys, differs = `(?s)this provider\s+did\s+not\s+write\s+it:\s+import\s+it\s+as\s+"volumes/v"`, `(?s)there is a volume "v".*terraform\s+import`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: base()},
			{ // just what a killed apply of this configuration leaves
				PreConfig: func() { fresh(); mark(unfinished) }, Config: config("  size_gib = 2\n"), Check: is(t, `virtual size: 2 GiB`),
			},
			{Config: base()},
			{ // one of a person, as a killed apply would leave it too
				PreConfig: func() { fresh(); mark("") }, Config: config("  size_gib = 2\n"), PlanOnly: true, ExpectError: regexp.MustCompile(somebodys),
			},
			{ // one of another state
				PreConfig: func() { mark("0123456789abcdef") }, Config: config("  size_gib = 2\n"), PlanOnly: true,
				ExpectError: regexp.MustCompile(`(?s)belongs\s+to\s+another\s+state.*import\s+it\s+as\s+"volumes/v"`),
			},
			{ // one that was finished, as of a state that was lost
				PreConfig: func() { mark(owner.Workspace()) }, Config: config("  size_gib = 2\n"),
				ExpectError: regexp.MustCompile(`(?s)finished\s+in\s+this\s+workspace.*import\s+it\s+as\s+"volumes/v"`),
			},
			{ // one with data in it
				PreConfig: func() {
					mark(unfinished)
					fresh()
					acctest.Run(t, "qemu-io", "-c", "write 1M 64k", poolDir+"/v")
				},
				Config: config("  size_gib = 2\n"), ExpectError: regexp.MustCompile(differs),
			},
			{ // one of another size
				PreConfig: fresh,
				Config:    config("  size_gib = 3\n"), ExpectError: regexp.MustCompile(differs),
			},
			{PreConfig: func() { acctest.Run(t, "rm", poolDir+"/v") }, Config: base()},
		},
	})
	acctest.Run(t, "rm", "-rf", poolDir)
}

// A mark outlives a volume that somebody removes by hand, and is in nobody's way.
func TestAccVolumeLeavesNoMarkBehind(t *testing.T) {
	acctest.InSandbox(t)
	remove := func() { acctest.Run(t, "rm", poolDir+"/v") }
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("  size_gib = 1\n")},
			{PreConfig: remove, Config: config("  size_gib = 1\n"), Check: func(*terraform.State) error {
				if found := acctest.Run(t, "sh", "-c", "ls "+poolDir+" | grep -c ^v.virtcluster-"); found != "1" {
					t.Errorf("the volume that was made anew has %s marks", found)
				}
				return nil
			}},
			// The pool goes with the mark of a volume that is gone already.
			{PreConfig: remove, Config: acctest.Provider()},
		},
	})
	if _, err := os.Stat(poolDir); !os.IsNotExist(err) {
		t.Errorf("the destroy left something: %v", err)
	}
}

// What Terraform forgets, as a person deleted it, is not asked for by a destroy any more: in their pool its mark would lie about for ever.
func TestAccVolumeThatAPersonDeletedLeavesNoMarkInTheirPool(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	const dir = "/var/lib/libvirt/persons-pool"
	run(t, "mkdir", "-p", dir)
	acctest.Virsh(t, "pool-create-as", "persons-pool", "dir", "--target", dir)
	t.Cleanup(func() {
		acctest.Virsh(t, "pool-destroy", "persons-pool")
		run(t, "rm", "-r", dir)
	})
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	const volume = "resource \"virtcluster_volume\" \"%s\" {\n  name = \"%s\"\n  pool = \"persons-pool\"\n  size_gib = 1\n}\n"
	s.Apply(acctest.Provider() + fmt.Sprintf(volume, "v", "v") + fmt.Sprintf(volume, "w", "w"))
	acctest.Virsh(t, "vol-delete", "v", "persons-pool")
	s.Run("destroy", "-auto-approve", "-target=virtcluster_volume.v")
	if left := run(t, "sh", "-c", "ls "+dir+" | grep -v ^w; true"); left != "" {
		t.Errorf("there is %s", left)
	}
	run(t, "rm", dir+"/w")
	s.Run("destroy", "-auto-approve")
	if left := run(t, "ls", dir); left != "" {
		t.Errorf("there is %s", left)
	}
}

// Somebody else's overlay, or machine, needs what is on a volume.
func TestAccVolumeInUseIsNotDeleted(t *testing.T) {
	acctest.InSandbox(t)
	overlay := "/var/lib/libvirt/elsewhere/overlay"
	acctest.Virsh(t, "pool-define-as", "elsewhere", "dir", "--target", "/var/lib/libvirt/elsewhere")
	acctest.Virsh(t, "pool-build", "elsewhere")
	acctest.Virsh(t, "pool-start", "elsewhere")
	defer func() {
		acctest.Virsh(t, "pool-destroy", "elsewhere")
		acctest.Virsh(t, "pool-delete", "elsewhere")
		acctest.Virsh(t, "pool-undefine", "elsewhere")
	}()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("  size_gib = 1\n")},
			{
				PreConfig: func() { // behind libvirt's back
					acctest.Run(t, "qemu-img", "create", "-q", "-f", "qcow2", "-b", poolDir+"/v", "-F", "qcow2", overlay)
				},
				Config: base(), ExpectError: regexp.MustCompile(`(?s)Cannot delete volume "volumes/v".*used\s+by\s+its\s+overlay\s+` + overlay),
			},
			{Config: config("  size_gib = 1\n"), PlanOnly: true}, // it is there, and in the state
			{PreConfig: func() { acctest.Run(t, "rm", overlay) }, Config: base()},
		},
	})
}

func TestAccVolumeGrowsUnderARunningMachine(t *testing.T) {
	acctest.InSandbox(t)
	domain := fmt.Sprintf(`<domain type='qemu'><name>user</name><memory unit='MiB'>64</memory><os><type arch='x86_64'>hvm</type></os>
<devices><disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='%s/v'/><target dev='vda' bus='virtio'/></disk></devices></domain>`, poolDir)
	xml := t.TempDir() + "/user.xml"
	if err := os.WriteFile(xml, []byte(domain), 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = exec.Command("virsh", "destroy", "user").Run() }() // where the test ends early
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("  size_gib = 1\n")},
			{
				PreConfig: func() { run(t, "virsh", "create", xml) },
				Config:    config("  size_gib = 2\n"),
				Check: func(*terraform.State) error {
					if got := run(t, "virsh", "domblkinfo", "user", "vda"); !strings.Contains(got, fmt.Sprint(2<<30)) {
						t.Errorf("the machine sees another size: %s", got)
					}
					return nil
				},
			},
			{Config: config("  size_gib = 2\n  format = \"raw\"\n"), PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)Volume in use.*machine\s+"user"\s+runs`)},
			// As long as it runs, the volume is not deleted either.
			{PreConfig: func() { acctest.Virsh(t, "destroy", "user") }, Config: config("  size_gib = 2\n"), PlanOnly: true},
		},
	})
}

func TestAccVolumeBadInput(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	fails := func(config, message string) resource.TestStep {
		return resource.TestStep{Config: config, PlanOnly: true, ExpectError: regexp.MustCompile(message)}
	}
	big := poolDir + "-big"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: base(), Check: func(*terraform.State) error {
				run(t, "qemu-img", "create", "-f", "qcow2", poolDir+"/big", "20G")
				run(t, "virsh", "pool-refresh", "volumes")
				return nil
			}},
			fails(config(""), `(?s)Missing volume size`),
			fails(config("  size_gib = 0\n"), `from\s+1\s+to\s+2097152`),
			fails(config("  size_gib = 17179869185\n"), `from\s+1\s+to\s+2097152`),
			fails(config("  size_gib = 1\n  format = \"vdi\"\n"), `write\s+one\s+of`),
			fails(config("  format = \"raw\"\n  image = \"base\"\n"), `always qcow2`),
			fails(config("  size_gib = 10\n  image = \"big\"\n"), `(?s)Volume smaller than its image.*size_gib\s+=\s+20`),
			fails(config("  size_gib = 10\n  image = \""+big+"\"\n"), `(?s)Unknown image.*`+big),
			fails(config("  size_gib = 10\n  image = \"nothing\"\n"), `(?s)Unknown image.*"nothing"`),
			fails(strings.Replace(config("  size_gib = 1\n"), "pool = virtcluster_storage_pool.p.name\n  size", "pool = \"nowhere\"\n  size", 1), `(?s)Unknown storage pool.*"volumes"`),
			fails(config("  size_gib = 1\n  hypervisor = \"kvm9\"\n"), `(?s)Unknown hypervisor`),
			{Config: base(), PreConfig: func() { run(t, "rm", poolDir+"/big") }},
		},
	})
}

func TestAccVolumeThatIsTaintedAndBecameAnothersStays(t *testing.T) {
	acctest.InSandbox(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	const size = "  size_gib = 1\n"
	s.ReplaceTainted("virtcluster_volume.v", config(size+acctest.HalfMade), config(size), func() {
		run(t, "sh", "-c", "mv "+poolDir+"/v.virtcluster-* "+poolDir+"/v.virtcluster-theirs-00")
		acctest.Virsh(t, "pool-refresh", "volumes")
	}, `"volumes/v" stays`, "belongs to another state")
	acctest.Virsh(t, "vol-info", "v", "volumes")
	for _, name := range []string{"v", "v.virtcluster-theirs-00"} {
		acctest.Virsh(t, "vol-delete", name, "volumes")
	}
}

// TestAccVolumeMadeAgainByAPersonIsTheirs has a person remove a volume and make another one of the name.
func TestAccVolumeMadeAgainByAPersonIsTheirs(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	const size = "  size_gib = 1\n"
	for name, again := range map[string][]string{"of another kind": {"5M", "--format", "raw"}, "alike": {"1G", "--format", "qcow2"}} {
		t.Run(name, func(t *testing.T) {
			s.Apply(config(size))
			acctest.Virsh(t, "vol-delete", "v", "volumes")
			acctest.Virsh(t, append([]string{"vol-create-as", "volumes", "v"}, again...)...)
			theirs := run(t, "stat", "-c", "%i", poolDir+"/v")
			if out := s.Run("plan"); !strings.Contains(out, "is not this resource's any more") {
				t.Errorf("%s: the plan does not tell:\n%s", name, out)
			}
			s.Write(config("  size_gib = 2\n"))
			s.Refused([]string{`volume "v" is in storage pool "volumes"`}, "apply", "-auto-approve")
			if out := s.Run("destroy", "-auto-approve", "-target=virtcluster_volume.v"); !strings.Contains(out, `"volumes/v" stays`) {
				t.Errorf("%s: a destroy does not tell that it stays:\n%s", name, out)
			}
			if now := run(t, "stat", "-c", "%i", poolDir+"/v"); now != theirs {
				t.Errorf("%s: it became another one", name)
			}
			if marks, err := filepath.Glob(poolDir + "/v.virtcluster-*"); err != nil || len(marks) > 0 {
				t.Errorf("%s: marks are left: %v, %v", name, marks, err)
			}
			acctest.Virsh(t, "vol-delete", "v", "volumes")
		})
	}
}
