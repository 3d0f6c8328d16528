package storagepool_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// standInForNFS mounts memory under the name of an export, as /proc/mounts would show that: the sandbox's kernel has no NFS.
func standInForNFS(t *testing.T) {
	t.Helper()
	acctest.InSandbox(t)
	const helper = "/usr/sbin/mount.nfs"
	if err := os.WriteFile(helper, []byte("#!/bin/sh\nexec mount -i -t tmpfs \"$1\" \"$2\"\n"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(helper); err != nil {
			t.Error(err)
		}
	})
}

func sourced(kind, more string) string {
	return acctest.Provider() + fmt.Sprintf("resource \"virtcluster_storage_pool\" \"p\" {\n  name = \"accsource\"\n  type = %q\n%s}\n", kind, more)
}

// isMounted checks whether something is mounted at a directory.
func isMounted(dir string, want bool) resource.TestCheckFunc {
	return func(*terraform.State) error {
		mounts, err := os.ReadFile("/proc/mounts")
		if err == nil && strings.Contains(string(mounts), " "+dir+" ") != want {
			err = fmt.Errorf("something is mounted at %s: %t", dir, !want)
		}
		return err
	}
}

func TestAccPoolOfAnotherMachinesDirectory(t *testing.T) {
	acctest.BothCLIs(t)
	standInForNFS(t)
	const dir = "/var/lib/libvirt/accsource"
	const source = "  source = { hosts = [\"10.0.100.101\"], path = \"/srv/images\", format = \"nfs\" }\n  path = \"" + dir + "\"\n"
	volume := "\nresource \"virtcluster_volume\" \"v\" {\n  name = \"a.qcow2\"\n  pool = virtcluster_storage_pool.p.name\n  size_gib = 1\n}\n"
	updates := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate)}}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{
				Config: sourced("netfs", source) + volume,
				Check: resource.ComposeTestCheckFunc(info(t, "accsource", `State: +running`), isMounted(dir, true), func(*terraform.State) error {
					for _, want := range []string{`<host name='10.0.100.101'/>`, `<dir path='/srv/images'/>`, `<format type='nfs'/>`} {
						if got := virsh(t, "pool-dumpxml", "accsource"); !strings.Contains(got, want) {
							return fmt.Errorf("its definition has no %s:\n%s", want, got)
						}
					}
					_, err := os.Stat(dir + "/a.qcow2")
					return err
				}),
			},
			{Config: sourced("netfs", source) + volume, PlanOnly: true},
			{ResourceName: address, ImportState: true, ImportStateId: "accsource", ImportStateVerify: true, ImportStateVerifyIgnore: []string{"available_bytes", "capacity_bytes"}},
			{Config: sourced("netfs", source+"  autostart = false\n"), ConfigPlanChecks: updates, Check: info(t, "accsource", `Autostart: +no`)},
			{ // drift: stopped by hand, which unmounts it, and the directory is gone
				PreConfig: func() {
					virsh(t, "pool-destroy", "accsource")
					if err := os.Remove(dir); err != nil {
						t.Error(err)
					}
				},
				Config: sourced("netfs", source), ConfigPlanChecks: updates, Check: resource.ComposeTestCheckFunc(info(t, "accsource", `State: +running`), isMounted(dir, true)),
			},
			{ // what a create made that did not end: it goes, and is made anew, in another spelling
				Taint: []string{address}, Config: sourced("netfs", strings.Replace(source, dir, dir+"/", 1)), Check: isMounted(dir, true),
			},
			{ // another export is another pool
				Config: sourced("netfs", strings.Replace(source, "/srv/images", "/srv/others", 1)),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(address, plancheck.ResourceActionDestroyBeforeCreate),
				}},
				Check: isMounted(dir, true),
			},
		},
	})
	absent(t, "accsource")
	if err := isMounted(dir, false)(nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory that was made for the pool is left: %v", err)
	}
}

// A hypervisor that does not answer may have the export too, with guests on what is deleted: nothing is, until it answers or is said to be lost.
func TestAccPoolOfADirectoryThatAnotherHypervisorMayHave(t *testing.T) {
	acctest.BothCLIs(t)
	standInForNFS(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	const source = "  source = { hosts = [\"10.0.100.101\"], path = \"/srv/images\", format = \"nfs\" }\n  path = \"/var/lib/libvirt/accsource\"\n"
	config := func(more string) string {
		provider := fmt.Sprintf("provider \"virtcluster\" {\n  uri         = \"qemu:///system\"\n  hypervisors = { silent = { uri = \"qemu+tcp://127.0.0.1:1/system\"%s } }\n}\n", more)
		return provider + strings.TrimPrefix(sourced("netfs", source), acctest.Provider()) +
			"\nresource \"virtcluster_volume\" \"v\" {\n  name = \"a.qcow2\"\n  pool = virtcluster_storage_pool.p.name\n  size_gib = 1\n}\n"
	}
	s.Apply(config(""))
	s.Settled()
	s.Refused([]string{"qemu+tcp://127.0.0.1:1/system may have this storage too", "lost = true"}, "destroy", "-auto-approve", "-target=virtcluster_volume.v")
	if _, err := os.Stat("/var/lib/libvirt/accsource/a.qcow2"); err != nil {
		t.Error(err)
	}
	s.Write(config(", lost = true"))
	s.Run("destroy", "-auto-approve")
	absent(t, "accsource")
}

func TestAccPoolOfASourceBadInput(t *testing.T) {
	acctest.BothCLIs(t)
	standInForNFS(t)
	fails := func(config, message string) resource.TestStep {
		return resource.TestStep{Config: config, PlanOnly: true, ExpectError: regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(message), " ", `[\s│]+`))}
	}
	group := "  source = { name = \"acc-none\" }\n"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			fails(sourced("dir", ""), "No directory"),
			fails(sourced("dir", "  path = \"/tmp\"\n"+group), "Not for this type of pool"),
			fails(sourced("netfs", "  path = \"/tmp\"\n  source = { hosts = [\"10.0.100.101\"] }\n"), "Source of a pool is not said"),
			fails(sourced("netfs", "  path = \"/proc\"\n  source = { hosts = [\"10.0.100.101\"], path = \"/srv\" }\n"), "Mounted already"),
			fails(sourced("logical", "  path = \"/dev/other\"\n"+group), "Another path than libvirt's"),
			fails(sourced("rbd", "  source = { hosts = [\"10.0.100.101\"], name = \"rbd\" }\n"), "Type not offered"),
			{ // nobody has such a group, and nothing is left of a pool of it
				Config: sourced("logical", group), ExpectError: regexp.MustCompile(`start[\s│]+storage[\s│]+pool[\s│]+"accsource"`),
			},
		},
	})
	absent(t, "accsource")
}
