package network_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// guest is a running machine on network acc0, by its network's name and by its bridge's.
type guest struct {
	t    *testing.T
	ping *exec.Cmd
	out  bytes.Buffer
}

// start boots the tiny image on the network and waits until it has its reserved address.
func (g *guest) start() {
	g.t.Helper()
	disk := filepath.Join(g.t.TempDir(), "guest.qcow2")
	shell(g.t, "qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", os.Getenv("SANDBOX_TINY_IMAGE"), disk)
	shell(g.t, "virsh", "net-update", "acc0", "add", "ip-dhcp-host", guestsReservation, "--live", "--config")
	file := filepath.Join(g.t.TempDir(), "guest.xml")
	xml := fmt.Sprintf(`<domain type='qemu'><name>accguest</name><memory unit='MiB'>160</memory><os><type arch='x86_64' machine='q35'>hvm</type></os><features><acpi/></features><devices>
<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='%s'/><target dev='vda' bus='virtio'/></disk>
<interface type='network'><mac address='52:54:00:aa:91:05'/><source network='acc0'/><model type='virtio'/></interface>
<interface type='bridge'><source bridge='accbr0'/><model type='virtio'/></interface><serial type='pty'/></devices></domain>`, disk)
	if err := os.WriteFile(file, []byte(xml), 0o600); err != nil {
		g.t.Fatal(err)
	}
	shell(g.t, "virsh", "create", file)
	for deadline := time.Now().Add(5 * time.Minute); exec.Command("ping", "-c1", "-W1", "10.91.0.5").Run() != nil; {
		if time.Now().After(deadline) {
			g.stop()
			g.t.Fatal("the guest does not answer")
		}
	}
}

// guestsReservation is a person's, as the guest is.
const guestsReservation = "<host mac='52:54:00:aa:91:05' name='guest' ip='10.91.0.5'/>"

// leave stops the guest and takes its reservation away: a network is not destroyed under either.
func (g *guest) leave() {
	g.t.Helper()
	g.stop()
	shell(g.t, "virsh", "net-update", "acc0", "delete", "ip-dhcp-host", guestsReservation, "--live", "--config")
}

func (g *guest) stop() { _ = exec.Command("virsh", "destroy", "accguest").Run() }

// watch begins to send ten packets a second to the guest.
func (g *guest) watch() {
	g.out.Reset()
	g.ping = exec.Command("ping", "-n", "-i", "0.1", "10.91.0.5")
	g.ping.Stdout = &g.out
	if err := g.ping.Start(); err != nil {
		g.t.Fatal(err)
	}
}

var answer = regexp.MustCompile(`icmp_seq=(\d+) ttl=`)

// lost waits until the guest answers again, ends watching, and says how many packets before the last answer
// had none.
func (g *guest) lost() (sent, missing int) {
	g.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); exec.Command("ping", "-c1", "-W1", "10.91.0.5").Run() != nil; {
		if time.Now().After(deadline) {
			g.t.Fatal("the guest does not answer any more")
		}
	}
	time.Sleep(time.Second)
	_ = g.ping.Process.Signal(os.Interrupt)
	_ = g.ping.Wait()
	answers := answer.FindAllStringSubmatch(g.out.String(), -1)
	if len(answers) == 0 {
		g.t.Fatalf("ping said %s", g.out.String())
	}
	for _, a := range answers {
		seq, _ := strconv.Atoi(a[1])
		sent = max(sent, seq)
	}
	return sent, sent - len(answers)
}

// mtu is an element of which it depends on libvirt's version whether a running network has it that was not given one.
var mtu = regexp.MustCompile(`\n *<mtu size='\d+'/>`)

// even checks that the network's two definitions are equal, but for an MTU that nobody asked for.
func even(t *testing.T) resource.TestCheckFunc {
	return func(*terraform.State) error {
		live, config := differs.ReplaceAllString(shell(t, "virsh", "net-dumpxml", "acc0"), ""), differs.ReplaceAllString(shell(t, "virsh", "net-dumpxml", "--inactive", "acc0"), "")
		if !mtu.MatchString(config) {
			live = mtu.ReplaceAllString(live, "")
		}
		if live != config {
			t.Errorf("running:\n%s\nconfigured:\n%s", live, config)
		}
		return nil
	}
}

// plugs is what must stay: the network's UUID, its bridge's MAC address and what is in the bridge. What MTU
// the taps get when they are plugged in again depends on libvirt's version.
func plugs(t *testing.T) string {
	t.Helper()
	xml := shell(t, "virsh", "net-dumpxml", "acc0")
	return shell(t, "virsh", "net-uuid", "acc0") + regexp.MustCompile(`<mac address='[^']*'`).FindString(xml) + "\n" +
		shell(t, "sh", "-c", "ip -o link show master accbr0 | sed 's/ state.*//; s/^[0-9]*: //; s/ mtu [0-9]*//'")
}

func TestAccNetworkChangesUnderARunningGuest(t *testing.T) {
	acctest.InSandbox(t)
	g := &guest{t: t}
	t.Cleanup(g.stop)
	dhcp := func(end string) string {
		return `dhcp = { ranges = [{ start = "10.91.0.210", end = "` + end + `" }] }` + "\n"
	}
	var before string
	// After a restart, spanning tree keeps a port shut for two times two seconds: 100 packets are ten seconds.
	// alive is a step that must keep everything plugged in and lose no more than so many packets.
	alive := func(c string, most int, more ...resource.TestCheckFunc) resource.TestStep {
		return resource.TestStep{
			PreConfig: g.watch, Config: config(management + c), ConfigPlanChecks: inPlace,
			Check: resource.ComposeTestCheckFunc(append(more, even(t), func(*terraform.State) error {
				sent, missing := g.lost()
				t.Logf("%d of %d packets lost", missing, sent)
				if missing > most || sent < 10 {
					t.Errorf("%d of %d packets lost", missing, sent)
				}
				if after := plugs(t); after != before || strings.Count(after, "vnet") < 2 {
					t.Errorf("before:\n%s\nafter:\n%s", before, after)
				}
				return nil
			})...),
		}
	}
	test(t, "acc0",
		resource.TestStep{Config: config(management + dhcp("10.91.0.220")), Check: func(*terraform.State) error {
			g.start()
			before = plugs(t)
			return nil
		}},
		alive(dhcp("10.91.0.230"), 0),
		alive(dhcp("10.91.0.230")+`dns = { hosts = { "10.91.0.9" = ["nine"] } }`, 0),
		alive("", 0), // DHCP and records taken away
		alive(dhcp("10.91.0.230")+"domain = \"okd.example\"\nmtu = 1450", 100, has(t, "acc0", "<mtu size='1450'/>")),
		alive(dhcp("10.91.0.230")+"mode = \"route\"\nroutes = [{ cidr = \"10.144.0.0/14\", via = \"10.91.0.5\" }]", 100, func(*terraform.State) error {
			if out := shell(t, "ip", "route"); !strings.Contains(out, "10.144.0.0/14 via 10.91.0.5 dev accbr0") {
				t.Error(out)
			}
			return nil
		}),
		resource.TestStep{Config: config(strings.Replace(management, "accbr0", "accbr1", 1)), ConfigPlanChecks: inPlace, Check: func(*terraform.State) error {
			if out := shell(t, "ip", "-o", "link", "show", "master", "accbr1"); strings.Count(out, "vnet") != 2 {
				t.Errorf("the machine did not follow the bridge to its new name: %s", out)
			}
			g.watch()
			g.lost()
			return nil
		}},
		resource.TestStep{Config: acctest.Provider(), ExpectError: regexp.MustCompile(`needed\s+by\s+what\s+is\s+not\s+this\s+state's:\s+the\s+domain\s+"accguest"`)},
		resource.TestStep{PreConfig: g.leave, Config: config(management)},
	)
}
