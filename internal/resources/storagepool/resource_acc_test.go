package storagepool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const address = "virtcluster_storage_pool.p"

func config(name, path, more string) string {
	return acctest.Provider() + `
resource "virtcluster_storage_pool" "p" {
  name = "` + name + `"
  path = "` + path + `"
` + more + `}
`
}

var virsh = acctest.Virsh

func info(t *testing.T, name string, want ...string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		got := virsh(t, "pool-info", name)
		for _, w := range want {
			if !regexp.MustCompile(w).MatchString(got) {
				t.Errorf("virsh pool-info says otherwise than %s:\n%s", w, got)
			}
		}
		return nil
	}
}

func TestAccPoolMakesAndRemovesItsDirectory(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	dir := "/var/lib/libvirt/pools/made"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{
				Config: config("made", dir, ""),
				Check:  resource.ComposeTestCheckFunc(info(t, "made", `State: +running`, `Autostart: +yes`), resource.TestCheckResourceAttr(address, "type", "dir")),
			},
			{ // drift: stopped and taken off autostart by hand
				PreConfig: func() { virsh(t, "pool-destroy", "made"); virsh(t, "pool-autostart", "--disable", "made") },
				Config:    config("made", dir+"/", ""),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate),
				}},
				Check: info(t, "made", `State: +running`, `Autostart: +yes`),
			},
			{ // drift: the directory is gone too
				PreConfig: func() {
					virsh(t, "pool-destroy", "made")
					if err := os.RemoveAll(dir); err != nil {
						t.Error(err)
					}
				},
				Config: config("made", dir, ""),
				Check:  info(t, "made", `State: +running`),
			},
			{ // drift: the directory of the running pool is gone, of which libvirt knows nothing
				PreConfig: func() {
					if err := os.RemoveAll(dir); err != nil {
						t.Error(err)
					}
				},
				Config: config("made", dir, ""),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate),
				}},
				Check: func(*terraform.State) error { _, err := os.Stat(dir); return err },
			},
			{Config: config("made", dir, "  autostart = false\n"), Check: info(t, "made", `Autostart: +no`)},
			{Config: config("made", dir, "  autostart = false\n  active = false\n"), Check: info(t, "made", `State: +inactive`)},
			{ResourceName: address, ImportState: true, ImportStateId: "made", ImportStateVerify: true},
			{ // drift: the pool is gone
				PreConfig: func() { virsh(t, "pool-undefine", "made") },
				Config:    config("made", dir, ""),
				Check:     info(t, "made", `State: +running`),
			},
		},
	})
	// The last step found the directory there, so it was adopted and stays.
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("a directory that was adopted is gone: %v", err)
	}
	absent(t, "made")
}

func absent(t *testing.T, name string) {
	t.Helper()
	if out, err := exec.Command("virsh", "pool-info", name).CombinedOutput(); err == nil {
		t.Errorf("the pool is still there: %s", out)
	}
}

func TestAccPoolDirectoryGoesWithIt(t *testing.T) {
	acctest.InSandbox(t)
	dir := "/var/lib/libvirt/goes"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps:                    []resource.TestStep{{Config: config("goes", dir, "")}},
	})
	absent(t, "goes")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory that was made for the pool is left: %v", err)
	}
}

func TestAccPoolKeepsFilesThatItDoesNotKnow(t *testing.T) {
	acctest.InSandbox(t)
	dir := "/var/lib/libvirt/keeps"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{{
			Config: config("keeps", dir, ""),
			Check: func(*terraform.State) error {
				return os.WriteFile(dir+"/precious", []byte("data"), 0o600)
			},
		}},
	})
	absent(t, "keeps")
	if _, err := os.Stat(dir + "/precious"); err != nil {
		t.Errorf("a file was deleted with the pool: %v", err)
	}
}

func TestAccPoolBadInput(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	virsh(t, "pool-define-as", "theirs", "dir", "--target", "/tmp")
	defer virsh(t, "pool-undefine", "theirs")
	fails := func(config, message string) resource.TestStep {
		return resource.TestStep{Config: config, PlanOnly: true, ExpectError: regexp.MustCompile(message)}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			fails(config("p", "relative", ""), `must be an absolute path`),
			fails(config("a/b", "/srv/p", ""), `must hold no slash`),
			fails(config("p", "/srv/p", "  type = \"logical\"\n"), `(?s)Source of a pool is not said.*made\s+from\s+name`),
			fails(config("p", "/srv/p", "  hypervisor = \"kvm9\"\n"), `(?s)Unknown hypervisor.*kvm9`),
			fails(config("theirs", "/srv/p", ""), `(?s)storage\s+pool\s+"theirs"\s+is\s+in\s+/tmp\s+already.*import\s+it`),
			fails(config("p", "/tmp/", ""), `(?s)Directory taken.*"theirs"\s+already`),
			fails(config("p", "/srv/p", "")+"resource \"virtcluster_storage_pool\" \"q\" {\n  name = \"q\"\n  path = \"/srv/./p\"\n}\n", `(?s)Directory taken.*directory\s+/srv/p`),
			{Config: config("p", "/proc/nowhere", ""), ExpectError: regexp.MustCompile(`(?s)Cannot create storage pool "p".*/proc/nowhere`)},
		},
	})
	absent(t, "p")
}

// What is written into a pool's file system, by whomever, is no change of the pool.
func TestAccPoolFillingUpIsNoChange(t *testing.T) {
	acctest.InSandbox(t)
	dir := "/var/lib/libvirt/fills"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("fills", dir, ""), Check: resource.TestCheckResourceAttrWith(address, "available_bytes", func(bytes string) error {
				if bytes == "0" {
					t.Error("there is no room")
				}
				return nil
			})},
			{
				PreConfig:        func() { acctest.Run(t, "dd", "if=/dev/urandom", "of="+dir+"/data", "bs=1M", "count=8") },
				Config:           config("fills", dir, ""),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{noDrift{}}},
			},
			// Starting it is a change, and measures it anew.
			{Config: config("fills", dir, "  active = false\n"), Check: resource.TestCheckResourceAttr(address, "available_bytes", "0")},
			{Config: config("fills", dir, ""), Check: resource.TestCheckResourceAttrWith(address, "available_bytes", func(bytes string) error {
				if bytes == "0" {
					t.Error("there is no room")
				}
				return nil
			})},
			{PreConfig: func() { acctest.Run(t, "rm", dir+"/data") }, Config: config("fills", dir, "")},
		},
	})
}

// noDrift is a plan that finds nothing changed outside of Terraform.
type noDrift struct{}

func (noDrift) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	for _, r := range req.Plan.ResourceDrift {
		resp.Error = errors.Join(resp.Error, fmt.Errorf("%s drifts: %v to %v", r.Address, r.Change.Before, r.Change.After))
	}
}

// A pool that another state made is not this one's, be it just as this one would make it.
func TestAccPoolOfAnotherStateIsNotTaken(t *testing.T) {
	acctest.InSandbox(t)
	dir := "/var/lib/libvirt/taken"
	xml := t.TempDir() + "/pool.xml"
	text := "<pool type='dir'><name>taken</name><source><vendor name='virtcluster owner=theirs workspace=0123456789abcdef'/></source><target><path>" + dir + "</path></target></pool>"
	if err := os.WriteFile(xml, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.Virsh(t, "pool-define", xml)
	acctest.Virsh(t, "pool-build", "taken")
	s := acctest.NewState(t)
	s.Write(config("taken", dir, ""))
	s.Refused([]string{`storage pool "taken" is in ` + dir + " already", "belongs to another state", `import it as "taken"`}, "plan")
	s.Write(config("other", dir, ""))
	s.Refused([]string{"Directory taken", "terraform import ADDRESS taken"}, "plan")
	if err := info(t, "taken", `State: +inactive`)(nil); err != nil {
		t.Error(err)
	}
	// Once it is imported, it is not in its own replacement's way.
	s.Write(config("taken", dir, ""))
	s.Run("import", address, "taken")
	s.Run("apply", "-auto-approve", "-replace="+address)
	s.Settled()
	// No change, though the room in it is another one now.
	acctest.Run(t, "dd", "if=/dev/urandom", "of="+dir+"/data", "bs=1M", "count=8")
	s.Settled()
	acctest.Run(t, "rm", dir+"/data")
	s.Write(config("renamed", dir, ""))
	s.Run("apply", "-auto-approve")
	s.Settled()
	s.Run("destroy", "-auto-approve")
}

// What a killed run left behind is gone on with; what one finished, be it of the same workspace, is not taken.
func TestAccPoolOfAKilledRunIsTakenOver(t *testing.T) {
	acctest.InSandbox(t)
	dir := "/var/lib/libvirt/killed"
	mark := func() string {
		return regexp.MustCompile(`owner=[^']*`).FindString(virsh(t, "pool-dumpxml", "killed", "--inactive"))
	}
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(config("killed", dir, ""))
	before := mark()
	s.Forget()
	s.Refused([]string{"finished in this workspace", `import it as "killed"`}, "apply", "-auto-approve")
	acctest.UnfinishPool(t, "killed")
	s.Apply(config("killed", dir, ""))
	s.Settled()
	if after := mark(); after == "" || after == before || regexp.MustCompile("creating=").MatchString(after) {
		t.Errorf("its mark was %q and is %q", before, after)
	}
	if err := info(t, "killed", `State: +running`, `Capacity: +[1-9]`)(nil); err != nil {
		t.Error(err)
	}
	s.Run("destroy", "-auto-approve")
	absent(t, "killed")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory that was made for the pool is left: %v", err)
	}
}
