package image_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// fails runs a subcommand that must fail, and returns what it printed, its lines joined.
func (c *cli) fails(argv ...string) string {
	c.t.Helper()
	before := len(c.log())
	if err := c.start(argv...).Wait(); err == nil {
		c.t.Errorf("%s succeeds\n%s", strings.Join(argv, " "), c.log()[before:])
	}
	return regexp.MustCompile(`[\s│]+`).ReplaceAllString(c.log()[before:], " ")
}

// configure replaces the configuration.
func (c *cli) configure(config string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, "main.tf"), []byte(head+config), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// sharedPool is a pool "images" that no state has.
func sharedPool(t *testing.T) {
	t.Helper()
	acctest.Virsh(t, "pool-define-as", "images", "dir", "--target", poolDir)
	acctest.Virsh(t, "pool-build", "images")
	acctest.Virsh(t, "pool-start", "images")
	t.Cleanup(func() {
		acctest.Virsh(t, "pool-destroy", "images")
		acctest.Virsh(t, "pool-undefine", "images")
		acctest.Run(t, "rmdir", poolDir) // so nothing is left in it
	})
}

// inShared is an image "i" in the pool that no state has, and an overlay of it where one is named.
func inShared(source, overlay string) string {
	text := fmt.Sprintf("resource \"virtcluster_image\" \"i\" {\n  name   = \"i\"\n  pool   = \"images\"\n  source = %q\n}\n", source)
	if overlay != "" {
		text += fmt.Sprintf("resource \"virtcluster_volume\" \"v\" {\n  name  = %q\n  pool  = \"images\"\n  image = virtcluster_image.i.id\n}\n", overlay)
	}
	return text
}

func TestAccImageOfAnotherStateIsNeitherTakenNorDeletedUnderItsOverlays(t *testing.T) {
	acctest.InSandbox(t)
	acctest.BothCLIs(t)
	sharedPool(t)
	source := file(t, disk(9))
	first := newCLI(t, inShared(source, ""))
	second := newCLI(t, inShared(source, "overlay"))
	apply := []string{"apply", "-auto-approve", "-no-color"}
	destroy := []string{"destroy", "-auto-approve", "-no-color"}
	first.run(apply...)

	// The very same image of the second state is refused, with the way out.
	if said := second.fails("plan", "-no-color"); !regexp.MustCompile(`volume "i" is in storage pool "images" already, and it belongs to another state \(owner \w+\): import it as "images/i"`).MatchString(said) {
		t.Errorf("the refusal says otherwise: %s", said)
	}
	first.run("plan", "-detailed-exitcode", "-no-color")

	// Taken over knowingly, it serves the second state, and the first one's destroy leaves it below the overlay.
	second.run("import", "-no-color", "virtcluster_image.i", "images/i")
	second.run(apply...)
	second.run("plan", "-detailed-exitcode", "-no-color")
	if said := first.fails(destroy...); !strings.Contains(said, poolDir+"/i is used by its overlay "+poolDir+"/overlay: remove those first") {
		t.Errorf("the refusal says otherwise: %s", said)
	}
	// Nor does another content take its place.
	first.configure(inShared(file(t, disk(10)), ""))
	if said := first.fails(apply...); !strings.Contains(said, "is used by its overlay") {
		t.Errorf("the refusal says otherwise: %s", said)
	}
	if err := stored(t, disk(9))(nil); err != nil {
		t.Errorf("the content under the overlay changed: %v", err)
	}
	acctest.Run(t, "qemu-img", "check", poolDir+"/overlay")

	second.run(destroy...)
	first.run("plan", "-no-color") // it sees that the image is gone
	first.run(destroy...)
}

func TestAccImageThatAMachineUsesIsNotDeleted(t *testing.T) {
	acctest.InSandbox(t)
	sharedPool(t)
	c := newCLI(t, inShared(file(t, disk(11)), ""))
	c.run("apply", "-auto-approve", "-no-color")
	xml := filepath.Join(t.TempDir(), "user.xml")
	domain := fmt.Sprintf(`<domain type='qemu'><name>user</name><memory unit='MiB'>64</memory><os><type arch='x86_64'>hvm</type></os>
<devices><disk type='file' device='cdrom'><source file='%s/i'/><target dev='sda' bus='sata'/><readonly/></disk></devices></domain>`, poolDir)
	if err := os.WriteFile(xml, []byte(domain), 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.Virsh(t, "define", xml)
	if said := c.fails("destroy", "-auto-approve", "-no-color"); !strings.Contains(said, `is used by the domain "user"`) {
		t.Errorf("the refusal says otherwise: %s", said)
	}
	acctest.Virsh(t, "undefine", "user")
	c.run("destroy", "-auto-approve", "-no-color")
}

// put makes a volume by hand: the marks of its owners, and its content.
func put(t *testing.T, content []byte, workspaces ...string) func() {
	return func() {
		files := map[string][]byte{"i": content}
		for _, w := range workspaces {
			files["i.virtcluster-leftbehind-"+w] = nil
		}
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(poolDir, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestAccImageAndAVolumeOfItsName(t *testing.T) {
	acctest.InSandbox(t)
	source := file(t, disk(4))
	here, elsewhere := owner.Workspace()+"-"+acctest.EndedRun, "0123456789abcdef"
	pool := acctest.Provider() + fmt.Sprintf("resource \"virtcluster_storage_pool\" \"p\" {\n  name = \"images\"\n  path = %q\n}\n", poolDir)
	unfinished := append([]byte("virtcluster: this image is not finished\nTOKEN\n"), disk(4)[4096:9<<20]...)
	marks := func() []string {
		found, err := filepath.Glob(poolDir + "/*.virtcluster-*")
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	var steps []resource.TestStep
	refused := func(message string, content []byte, workspaces ...string) {
		steps = append(steps, resource.TestStep{PreConfig: put(t, content, workspaces...), Config: config(source, ""), ExpectError: regexp.MustCompile(message)}, resource.TestStep{
			PreConfig: func() { // still there, untouched
				if got, err := os.ReadFile(poolDir + "/i"); err != nil || !bytes.Equal(got, content) {
					t.Errorf("what was refused is another thing now: %d bytes of %d, %v", len(got), len(content), err)
				}
				if left := marks(); len(left) != len(workspaces) {
					t.Errorf("a refusal leaves marks: %v", left)
				}
				for _, name := range append(marks(), poolDir+"/i") {
					if err := os.Remove(name); err != nil {
						t.Error(err)
					}
				}
			},
			Config: pool,
		})
	}
	taken := func(content []byte, workspaces ...string) {
		steps = append(steps, resource.TestStep{PreConfig: put(t, content, workspaces...), Config: config(source, ""), Check: stored(t, disk(4))}, resource.TestStep{
			PreConfig: func() {
				if left := marks(); len(left) != 1 || strings.Contains(left[0], "leftbehind") {
					t.Errorf("the marks after it was taken over: %v", left)
				}
			},
			Config: pool,
		}, resource.TestStep{
			PreConfig: func() {
				if left, err := os.ReadDir(poolDir); err != nil || len(left) > 0 {
					t.Errorf("left behind: %v, %v", left, err)
				}
			},
			Config: pool,
		})
	}
	steps = append(steps, resource.TestStep{Config: pool})
	const somebodys, anothers = `(?s)this provider\s+did\s+not\s+write\s+it:\s+import\s+it\s+as\s+"images/i"`, `(?s)belongs\s+to\s+another\s+state.*import\s+it\s+as\s+"images/i"`
	// A person's, or of nobody knows which state.
	refused(somebodys, disk(5))
	refused(somebodys, disk(4))
	refused(somebodys, nil)
	refused(somebodys, unfinished)
	refused(`(?s)finished\s+in\s+this\s+workspace.*import\s+it\s+as\s+"images/i"`, disk(4), owner.Workspace())
	// Another state's, and one that both of them began.
	refused(anothers, disk(4), elsewhere)
	refused(anothers, unfinished, elsewhere)
	refused(anothers, unfinished, elsewhere, here)
	// What a killed run of this configuration left.
	taken(unfinished, here)
	taken(nil, here)
	taken(disk(4), here)
	refused(`(?s)other\s+content.*terraform\s+import`, disk(5), here)
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, Steps: steps})
}
