package network_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// spaced lets a message be found although the CLI wraps lines.
func spaced(text string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(text), " ", `[\s│]+`))
}

func TestAccNetworkBadInputFailsThePlan(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	shell(t, "sh", "-c", "printf '<network><name>accother</name><bridge name=\"accother\"/><ip address=\"10.95.0.1\" prefix=\"24\"/></network>' >$TMPDIR/other.xml && virsh net-define $TMPDIR/other.xml")
	t.Cleanup(func() { _ = exec.Command("virsh", "net-undefine", "accother").Run() })
	const name = "name = \"acc0\"\n"
	var steps []resource.TestStep
	for _, c := range []struct{ attributes, want string }{
		{`cidr = "10.95.0.0/16"`, `overlaps 10.95.0.0/24 of network "accother"`},
		{`cidr = "10.19.41.0/25"`, `overlaps 10.19.41.0/24 that hypervisor qemu:///system reaches through device eno1`},
		{`cidr = "10.91.0.5/24"`, `write 10.91.0.0/24`},
		{`cidr = "10.91.0/24"`, `write an address with the length of its network's prefix, such as "10.0.0.1/24", not "10.91.0/24"`},
		{"cidr = \"10.91.0.0/24\"\ngateway = \"10.92.0.1\"", `write an address in 10.91.0.0/24, not 10.92.0.1`},
		{"cidr = \"10.91.0.0/24\"\ngateway = \"10.91.0.255\"", `network or broadcast address`},
		{"cidr = \"10.91.0.0/24\"\ndhcp = { ranges = [{ start = \"10.91.1.1\", end = \"10.91.1.9\" }] }", `10.91.1.1 to 10.91.1.9 is not inside 10.91.0.0/24`},
		{"cidr = \"10.91.0.0/24\"\ndhcp = { ranges = [{ start = \"10.91.0.1\", end = \"10.91.0.9\" }] }", `would give out the hypervisor's own address 10.91.0.1`},
		{"cidr = \"10.91.0.0/24\"\ndhcp = { ranges = [{ start = \"10.91.0.9\", end = \"10.91.0.5\" }] }", `ends at 10.91.0.5 before it starts`},
		{"cidr = \"10.91.0.0/24\"\nbridge = \"abridgenamethatistoolong\"", `of at most 15 letters, digits and "_.@-", not "abridgenamethatistoolong"`},
		{"cidr = \"10.91.0.0/24\"\nbridge = \"accother\"", `Network "accother" on hypervisor qemu:///system has the bridge accother`},
		{"cidr = \"10.91.0.0/24\"\nbridge = \"eno1\"", `has a network device eno1 already`},
		{"cidr = \"10.91.0.0/24\"\nhypervisor = \"nobody\"", `no hypervisor "nobody"`},
		{"cidr = \"10.91.0.0/24\"\ndomain = \"\"", `write a host name such as "node-1.example.com", or leave it out (null); an empty text is neither`},
		{``, `mode "nat" needs cidr or ipv6_cidr`},
		{`mode = "bridge"`, `needs the name of a bridge that is there already`},
		{"mode = \"bridge\"\nbridge = \"nosuchbr0\"", `has no bridge "nosuchbr0", and nothing planned so far makes it`},
		{"cidr = \"10.91.0.0/24\"\ndhcp = { ranges = [{ start = \"10.91.0.9\", end = \"10.91.0.300\" }] }", `dhcp.ranges[0].end: write an address such as "10.0.0.1" or "2001:db8::1": "10.91.0.300" is no IPv4 or IPv6 address`},
		{"mode = \"bridge\"\nbridge = \"br0\"\ncidr = \"10.91.0.0/24\"", `leave cidr out`},
		{"cidr = \"10.91.0.0/24\"\nmtu = 60", `write a number from 68 to 65535, not 60`},
		{"cidr = \"10.91.0.0/24\"\ndns = { enabled = false, hosts = { \"10.91.0.9\" = [\"nine\"] } }", `leave forwarders and hosts out`},
		{"cidr = \"10.91.0.0/24\"\ndns = { hosts = { \"api\" = [\"10.91.0.9\"] } }", `write an address such as "10.0.0.1" or "2001:db8::1"`},
		{"cidr = \"10.91.0.0/24\"\npxe = { boot_file = \"pxelinux.0\" }", `write dhcp.ranges`},
		{"cidr = \"10.91.0.0/24\"\nroutes = [{ cidr = \"10.144.0.0/14\", via = \"10.92.0.1\" }]", `a machine on this network`},
		{"cidr = \"10.91.0.0/24\"\nvirtual_port = \"openvswitch\"", `belongs to mode "bridge"`},
	} {
		steps = append(steps, resource.TestStep{Config: config(name + c.attributes), PlanOnly: true, ExpectError: spaced(c.want)})
	}
	steps = append(steps, resource.TestStep{
		Config: config(name+`cidr = "10.91.0.0/24"`) + "resource \"virtcluster_network\" \"m\" {\n  name = \"acc1\"\n  cidr = \"10.91.0.128/25\"\n}\n", PlanOnly: true,
		ExpectError: spaced("of this configuration has"),
	})
	test(t, "acc0", steps...)
}

func TestAccNetworkThatIsThereIsNotTakenOver(t *testing.T) {
	acctest.InSandbox(t)
	shell(t, "sh", "-c", "printf '<network><name>acc0</name><bridge name=\"accbr0\"/><ip address=\"10.91.0.254\" prefix=\"24\"/></network>' >$TMPDIR/there.xml && virsh net-define $TMPDIR/there.xml")
	before := shell(t, "virsh", "net-dumpxml", "acc0")
	test(t, "acc0",
		resource.TestStep{Config: config(management), ExpectError: spaced("import it as \"acc0\"")},
		resource.TestStep{Config: config(management + "mode = \"isolated\"\nautostart = false"), ResourceName: address, ImportState: true, ImportStateId: "acc0", ImportStatePersist: true,
			ImportStateCheck: nil},
		resource.TestStep{Config: config(management + "mode = \"isolated\"\nautostart = false\nactive = false"), ConfigPlanChecks: unchanged, Check: func(*terraform.State) error {
			if after := shell(t, "virsh", "net-dumpxml", "acc0"); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			return nil
		}},
	)
}

func TestAccNetworkThatDoesNotStartGetsItsOldDefinitionBack(t *testing.T) {
	var before string
	test(t, "acc0",
		resource.TestStep{Config: config(management), Check: func(*terraform.State) error {
			before = shell(t, "virsh", "net-dumpxml", "--inactive", "acc0")
			return nil
		}},
		// dnsmasq, not libvirt, finds out that the directory is not there. Without addresses to give out, an old libvirt
		// would leave TFTP out.
		resource.TestStep{Config: config(management + "mtu = 1400\ndhcp = { ranges = [{ start = \"10.91.0.10\", end = \"10.91.0.20\" }] }\npxe = { tftp_root = \"/nowhere\" }"), ExpectError: spaced("TFTP directory /nowhere inaccessible")},
		resource.TestStep{Config: config(management), ConfigPlanChecks: unchanged, Check: func(*terraform.State) error {
			if after := shell(t, "virsh", "net-dumpxml", "--inactive", "acc0"); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			return nil
		}},
	)
}

// byHand is a network with much that the schema does not model.
const byHand = `<network xmlns:dnsmasq='http://libvirt.org/schemas/network/dnsmasq/1.0' trustGuestRxFilters='no'><name>acc0</name>
<metadata><app:note xmlns:app='urn:note'>keep me</app:note></metadata>
<forward mode='nat'><nat><port start='2048' end='4096'/></nat></forward><bridge name='accbr0' stp='off' delay='2'/><mac address='52:54:00:91:91:91'/>
<dns><txt name='example' value='a text'/><srv service='etcd' protocol='tcp' target='a' port='2380'/></dns>
<ip address='10.91.0.254' netmask='255.255.255.0' localPtr='yes'/>
<portgroup name='engineering' default='yes'/><dnsmasq:options><dnsmasq:option value='log-queries'/></dnsmasq:options></network>`

func TestAccNetworkMadeByHandKeepsWhatIsNotModelled(t *testing.T) {
	acctest.InSandbox(t)
	cmd := exec.Command("virsh", "net-define", "/dev/stdin")
	cmd.Stdin = strings.NewReader(byHand)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	shell(t, "virsh", "net-start", "acc0")
	shell(t, "virsh", "net-autostart", "acc0")
	kept := has(t, "acc0", "keep me", "<port start='2048' end='4096'/>", "stp='off'", "52:54:00:91:91:91", "<txt name='example'", "service='etcd'", "localPtr='yes'", "engineering", "log-queries")
	test(t, "acc0",
		resource.TestStep{Config: config(management), ResourceName: address, ImportState: true, ImportStateId: "acc0", ImportStatePersist: true},
		resource.TestStep{Config: config(management), ConfigPlanChecks: unchanged},
		resource.TestStep{Config: config(management + `domain = "okd.example"`), ConfigPlanChecks: inPlace, Check: kept},
		resource.TestStep{Config: config(management + "domain = \"okd.example\"\ndhcp = { ranges = [{ start = \"10.91.0.10\", end = \"10.91.0.20\" }], options = { \"42\" = \"10.91.0.1\" } }"), ConfigPlanChecks: inPlace, Check: kept},
	)
}
