package node_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// bootableDisc is an image of a disc (ECMA-119) from which a BIOS boots a program (El Torito, without emulation) that writes a text to the
// first serial port.
func bootableDisc(says string) []byte {
	const sector = 2048
	disc := make([]byte, 22*sector)
	volume := func(at int, kind byte, more string) {
		copy(disc[at*sector:], string(kind)+"CD001\x01"+more)
	}
	volume(16, 1, "")
	volume(17, 0, "EL TORITO SPECIFICATION")
	binary.LittleEndian.PutUint32(disc[17*sector+0x47:], 19) // where the catalogue is
	copy(disc[18*sector:], "\xffCD001\x01")
	catalogue := disc[19*sector:]
	copy(catalogue, "\x01\x00\x00\x00")
	copy(catalogue[28:], "\xaa\x55\x55\xaa") // the words of the entry have a sum of zero
	copy(catalogue[32:], "\x88\x00\x00\x00\x00\x00\x04\x00\x14\x00\x00\x00")
	copy(disc[20*sector:], "\x31\xc0\x8e\xd8\xbe\x21\x7c"+ // ds = 0, si = what comes behind the program, which is at 0x7c00
		"\xac\x84\xc0\x74\x12\x88\xc4"+ // the next byte, until there is none
		"\xba\xfd\x03\xec\xa8\x20\x74\xf8"+ // wait until the port takes one
		"\x88\xe0\xba\xf8\x03\xee\xeb\xe9"+ // give it the byte, and go on
		"\xf4\xeb\xfd"+says+"\r\n\x00")
	return disc
}

// discs serves images of discs by HTTP, and has them as files too. What is no disc is among them.
func discs(t *testing.T) (dir, url string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range map[string][]byte{
		"a.iso": bootableDisc("disc a"), "b.iso": bootableDisc("disc b"), "c.iso": bootableDisc("disc c"), "page.iso": []byte("<html>no disc</html>"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return dir, server.URL
}

// inDrive checks what QEMU has in the drive of a machine that runs: a file by the end of its name and its content; "" for nothing.
func inDrive(t *testing.T, file string, content []byte) resource.TestCheckFunc {
	return func(*terraform.State) error {
		path := driveOf(t)
		if !strings.HasSuffix(path, file) || file == "" && path != "-" {
			t.Errorf("the drive has %s, not %s", path, file)
			return nil
		}
		if block := virsh(t, "qemu-monitor-command", "acc", "--hmp", "info block"); file != "" && !strings.Contains(block, path) {
			t.Errorf("QEMU has in its drives\n%s", block)
		}
		if got, err := os.ReadFile(path); content != nil && (err != nil || !bytes.HasPrefix(got, content)) {
			t.Errorf("%s has not the disc: %v", path, err)
		}
		return nil
	}
}

// driveOf is what virsh says of what is in the drive; "-" for nothing.
func driveOf(t *testing.T) string {
	t.Helper()
	for _, line := range strings.Split(virsh(t, "domblklist", "acc", "--details"), "\n") {
		if f := strings.Fields(line); len(f) == 4 && f[1] == "cdrom" {
			return f[3]
		}
	}
	return "no drive"
}

// targetOf is the target of the drive.
func targetOf(t *testing.T) string {
	t.Helper()
	return regexp.MustCompile(`cdrom +(sd[a-z])`).FindStringSubmatch(virsh(t, "domblklist", "acc", "--details"))[1]
}

func TestAccNodeCDROMIsChangedWhileItRuns(t *testing.T) {
	pool, network, image := stage(t, "nodecd")
	dir, url := discs(t)
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	images := fmt.Sprintf("resource \"virtcluster_image\" \"a\" {\n  name = \"a.iso\"\n  pool = %q\n  source = %q\n}\n", pool, filepath.Join(dir, "a.iso"))
	with := func(cdrom string) string { return config(image, network, cdrom) + images }
	ofImage := with("  cdrom = { image = virtcluster_image.a.id }\n")
	ofURL := func(name string) string { return with(fmt.Sprintf("  cdrom = { url = \"%s/%s\" }\n", url, name)) }
	began := ""
	stays := func(*terraform.State) error {
		if id := virsh(t, "domid", "acc"); id != began {
			t.Errorf("the node was restarted: %s, then %s", began, id)
		}
		return nil
	}
	copies := func(want int) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if list := virsh(t, "vol-list", pool); len(regexp.MustCompile(` acc-cdrom-[0-9a-f]{8}\.iso `).FindAllString(list, -1)) != want {
				t.Errorf("the copies of discs are not %d:\n%s", want, list)
			}
			return nil
		}
	}
	change := func(argv ...string) func() {
		return func() { virsh(t, append([]string{"change-media", "acc", targetOf(t), "--force"}, argv...)...) }
	}
	refused := func(cdrom, want string) resource.TestStep {
		return resource.TestStep{Config: with("  cdrom = { " + cdrom + " }\n"), PlanOnly: true, ExpectError: wrapped(want)}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: with(""), Check: func(*terraform.State) error { began = virsh(t, "domid", "acc"); return nil }},
			refused(fmt.Sprintf("image = %q", image), "this is no ISO image"),
			refused("image = \"/var/lib/libvirt/nodecd/none.iso\"", "has no volume /var/lib/libvirt/nodecd/none.iso"),
			refused(fmt.Sprintf("url = \"%s/page.iso\"", url), "this is no ISO image"),
			refused(fmt.Sprintf("url = \"%s/none.iso\"", url), "404"),
			refused("url = \"http://127.0.0.1:1/a.iso\"", "connection refused"),
			refused("url = \"ftp://mirror.example/a.iso\"", "write a URL of http or https"),
			refused(fmt.Sprintf("image = %q, url = \"%s/a.iso\"", image, url), "write only one of them"),
			refused("", "cannot be plugged in with nothing in it"),
			{Config: ofImage, ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(stays, inDrive(t, "/nodecd/a.iso", read("a.iso")))},
			{ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true},
			{Config: ofURL("b.iso"), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(stays, inDrive(t, ".iso", read("b.iso")), copies(1))},
			{ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true},
			{ // what was a disc at plan is none at apply
				PreConfig: func() {
					if err := os.WriteFile(filepath.Join(dir, "b.iso"), []byte("gone"), 0o644); err != nil {
						t.Fatal(err)
					}
				},
				Config: ofURL("b.iso"), ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}, Check: copies(1),
			},
			{Config: ofURL("c.iso"), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(stays, inDrive(t, ".iso", read("c.iso")), copies(1))},
			{Config: with("  cdrom = {}\n"), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(stays, inDrive(t, "", nil), copies(0))},
			{ // a person's virsh changes a drive that was there when the node started
				PreConfig: func() {
					virsh(t, "destroy", "acc")
					virsh(t, "start", "acc")
					began = virsh(t, "domid", "acc")
				},
				Config: ofURL("c.iso"), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(stays, inDrive(t, ".iso", read("c.iso")), copies(1)),
			},
			{PreConfig: change("--eject", "--live", "--config"), Config: ofURL("c.iso"), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(stays, inDrive(t, ".iso", read("c.iso")), copies(1))},
			{PreConfig: change("/var/lib/libvirt/nodecd/a.iso", "--update", "--live"), Config: ofURL("c.iso"), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(stays, inDrive(t, ".iso", read("c.iso")))},
			{PreConfig: change("/var/lib/libvirt/nodecd/a.iso", "--update", "--config"), Config: ofURL("c.iso"), ConfigPlanChecks: updates(), Check: says(t, "dumpxml --inactive acc", `acc-cdrom-[0-9a-f]{8}\.iso`)},
			{Config: with("  cdrom = {}\n"), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(stays, inDrive(t, "", nil), copies(0))},
			{ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true},
			{PreConfig: change("/var/lib/libvirt/nodecd/a.iso", "--insert", "--live"), Config: with("  cdrom = {}\n"), ConfigPlanChecks: updates(), Check: inDrive(t, "", nil)},
			{Config: ofImage, ConfigPlanChecks: updates(), Check: inDrive(t, "/nodecd/a.iso", nil)},
			{Config: with(""), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(stays, inDrive(t, "", nil), resource.TestCheckNoResourceAttr(address, "cdrom.%"))},
			{ // nothing is said of the drive any more: what others put in is theirs
				PreConfig: change("/var/lib/libvirt/nodecd/a.iso", "--insert", "--live", "--config"), Config: with(""),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}, Check: inDrive(t, "/nodecd/a.iso", nil),
			},
			{Config: with("  labels = { a = \"b\" }\n"), ConfigPlanChecks: updates(), Check: inDrive(t, "/nodecd/a.iso", nil)},
			{PreConfig: change("--eject", "--live", "--config"), Config: with("  labels = { a = \"b\" }\n")},
		},
	})
}

func TestAccNodeCDROMBootsAndOthersChangeIt(t *testing.T) {
	_, network, _ := stage(t, "nodecdboot")
	dir, url := discs(t)
	with := func(url, more string) string {
		return acctest.Provider() + strings.ReplaceAll(fmt.Sprintf(`
resource "terraform_data" "url" {
  input = %q
}
resource "virtcluster_image" "a" {
  name   = "a.iso"
  pool   = "NET"
  source = "%s/a.iso"
}
resource "virtcluster_node" "n" {
  name             = "acc"
  type             = "qemu"
  memory_mib       = 64
  shutdown_timeout = "0s"
  power            = "external"
  root_disk        = { size_gib = 1, pool = "NET" }
  boot             = { order = ["cdrom", "hd"] }
  console          = { log_file = "/var/log/libvirt/acccd.log" }
  depends_on       = [virtcluster_image.a]
%s
}
`, url, dir, more), "NET", network)
	}
	byURL := "  cdrom = { url = terraform_data.url.output }\n"
	put := func(argv ...string) func() {
		return func() {
			virsh(t, append([]string{"change-media", "acc", targetOf(t), "--force", "--live", "--config"}, argv...)...)
		}
	}
	unchanged := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: with(url+"/page.iso", byURL), ExpectError: wrapped("this is no ISO image")}, // which is known only while applying
			{Config: with(url+"/b.iso", byURL), Check: wrote(t, "/var/log/libvirt/acccd.log", "disc b")},
			{ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true},
			{PreConfig: put("--eject"), Config: with(url+"/b.iso", byURL), ConfigPlanChecks: unchanged, Check: inDrive(t, "", nil)},
			{PreConfig: put("/var/lib/libvirt/nodecdboot/a.iso", "--insert"), Config: with(url+"/b.iso", byURL), ConfigPlanChecks: unchanged, Check: inDrive(t, "/a.iso", nil)},
			// Another change leaves it where it is, while the node runs and by a restart.
			{Config: with(url+"/b.iso", byURL+"  labels = { a = \"b\" }\n"), ConfigPlanChecks: updates(), Check: inDrive(t, "/a.iso", nil)},
			{
				Config: with(url+"/b.iso", byURL+"  rng = false\n  allow_restart = true\n"), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(inDrive(t, "/a.iso", nil), wrote(t, "/var/log/libvirt/acccd.log", "disc a")),
			},
			{ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true},
			{ // off, and another disc than before
				PreConfig: func() { virsh(t, "destroy", "acc") },
				Config:    with(url+"/c.iso", byURL+"  rng = false\n"),
				Check:     says(t, "dumpxml --inactive acc", `acc-cdrom-[0-9a-f]{8}\.iso`, `ua-media`),
			},
			{PreConfig: func() { virsh(t, "start", "acc") }, Config: with(url+"/c.iso", byURL+"  rng = false\n"), ConfigPlanChecks: unchanged, Check: wrote(t, "/var/log/libvirt/acccd.log", "disc c")},
			// Managed again, what the configuration says is enforced.
			{PreConfig: put("--eject"), Config: strings.Replace(with(url+"/c.iso", byURL+"  rng = false\n"), "external", "managed", 1), Check: inDrive(t, ".iso", bootableDisc("disc c"))},
		},
	})
}

// TestAccNodeDriveKeepsItsPlaceInTheBootOrder has a person give each device of a node that runs a place in the order.
func TestAccNodeDriveKeepsItsPlaceInTheBootOrder(t *testing.T) {
	_, network, image := stage(t, "nodeplaces")
	_, url := discs(t)
	node := func(disc string) string {
		return config(image, network, oneInterface+fmt.Sprintf("  boot  = { order = [\"hd\", \"cdrom\"] }\n  cdrom = { url = \"%s/%s\" }\n", url, disc))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: node("a.iso")},
			{
				PreConfig: func() {
					xml := regexp.MustCompile(`<boot dev='\w+'/>`).ReplaceAllString(virsh(t, "dumpxml", "--inactive", "acc"), "")
					xml = strings.Replace(xml, "<target dev='vda' bus='virtio'/>", "<target dev='vda' bus='virtio'/><boot order='1'/>", 1)
					xml = regexp.MustCompile(`(device='cdrom'>[\s\S]*?<target [^>]*/>)`).ReplaceAllString(xml, "$1<boot order='2'/>")
					virsh(t, "define", writeFile(t, xml))
				},
				Config: node("b.iso"), ConfigPlanChecks: updates(), Check: says(t, "dumpxml --inactive acc", `<boot order='1'/>`, `<boot order='2'/>`),
			},
		},
	})
}
