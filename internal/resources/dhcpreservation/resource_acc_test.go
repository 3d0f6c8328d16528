package dhcpreservation_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const address = "virtcluster_dhcp_reservation.r"

const network = `
resource "virtcluster_network" "n" {
  name      = "accres0"
  mode      = "isolated"
  cidr      = "10.93.0.0/24"
  ipv6_cidr = "fd00:93::/64"
  dhcp      = { ranges = [{ start = "10.93.0.210", end = "10.93.0.220" }, { start = "fd00:93::100", end = "fd00:93::1ff" }] }
}
`

func config(resources ...string) string {
	return acctest.Provider() + network + strings.Join(resources, "\n")
}

func reservation(name, attributes string) string {
	return "resource \"virtcluster_dhcp_reservation\" \"" + name + "\" {\n  network = virtcluster_network.n.name\n" + attributes + "\n}\n"
}

var virsh = acctest.Virsh

// hosts checks the reservations that virsh shows in both definitions.
func hosts(t *testing.T, want ...string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		for _, flags := range [][]string{nil, {"--inactive"}} {
			xml := virsh(t, append([]string{"net-dumpxml", "accres0"}, flags...)...)
			if n := strings.Count(xml, "<host "); n != len(want) {
				t.Errorf("%d reservations instead of %d in\n%s", n, len(want), xml)
			}
			for _, w := range want {
				if !strings.Contains(xml, w) {
					t.Errorf("%s is not in\n%s", w, xml)
				}
			}
		}
		return nil
	}
}

var (
	inPlace   = resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate)}}
	created   = resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionCreate)}}
	unchanged = resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
)

func TestAccReservationLife(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	c := func(ip, more string) string {
		return config(reservation("r", "mac = \"52:54:00:aa:93:01\"\nip = \""+ip+"\"\n"+more))
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, Steps: []resource.TestStep{
		{Config: c("10.93.0.5", `hostname = "five"`), Check: resource.ComposeTestCheckFunc(
			hosts(t, "<host mac='52:54:00:aa:93:01' name='five' ip='10.93.0.5'/>"), resource.TestCheckResourceAttr(address, "id", "accres0/52:54:00:aa:93:01"))},
		{ResourceName: address, ImportState: true, ImportStateVerify: true},
		{Config: c("10.93.0.6", `hostname = "six"`), ConfigPlanChecks: inPlace, Check: hosts(t, "<host mac='52:54:00:aa:93:01' name='six' ip='10.93.0.6'/>")},
		{Config: strings.Replace(c("10.93.0.6", `hostname = "six"`), "52:54:00:aa:93:01", "52-54-00-AA-93-01", 1), ConfigPlanChecks: unchanged},
		{PreConfig: func() {
			virsh(t, "net-update", "accres0", "modify", "ip-dhcp-host", "<host mac='52:54:00:aa:93:01' name='six' ip='10.93.0.9'/>", "--live", "--config")
		}, Config: c("10.93.0.6", `hostname = "six"`), ConfigPlanChecks: inPlace, Check: hosts(t, "name='six' ip='10.93.0.6'")},
		{PreConfig: func() {
			virsh(t, "net-update", "accres0", "delete", "ip-dhcp-host", "<host mac='52:54:00:aa:93:01'/>", "--live")
		}, Config: c("10.93.0.6", `hostname = "six"`), ConfigPlanChecks: created, Check: hosts(t, "name='six' ip='10.93.0.6'")},
		{Config: c("10.93.0.6", ""), ConfigPlanChecks: inPlace, Check: hosts(t, "<host mac='52:54:00:aa:93:01' ip='10.93.0.6'/>")},
		{Config: config(), Check: hosts(t)},
		{Config: config(reservation("r", "duid = \"0:3:0:1:52:54:0:AA:93:1\"\nip = \"FD00:93:0::5\"")), Check: hosts(t, "ip='fd00:93::5'")},
		{ResourceName: address, ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"duid", "ip"}},
		{Config: config(reservation("r", "duid = \"00:03:00:01:52:54:00:aa:93:01\"\nip = \"fd00:93::7\"")), ConfigPlanChecks: inPlace, Check: hosts(t, "ip='fd00:93::7'")},
		{Config: config(reservation("r", "hostname = \"v6\"\nip = \"fd00:93::6\"")), Check: hosts(t, "<host name='v6' ip='fd00:93::6'/>")},
		{Config: config(reservation("r", "hostname = \"v6b\"\nip = \"fd00:93::6\"")), Check: hosts(t, "<host name='v6b' ip='fd00:93::6'/>")},
	}})
}

// libvirt changes the first reservation that has the address, the MAC address or the name.
func TestAccReservationLeavesOthersOfTheNameAlone(t *testing.T) {
	acctest.InSandbox(t)
	c := func(last, name string) string {
		return config(reservation("r", "mac = \"52:54:00:aa:93:01\"\nip = \"10.93.0.5\"\nhostname = \"one\""),
			reservation("other", "mac = \"52:54:00:aa:93:02\"\nip = \"10.93.0."+last+"\"\nhostname = \""+name+"\""))
	}
	both := hosts(t, "<host mac='52:54:00:aa:93:01' name='one' ip='10.93.0.5'/>", "<host mac='52:54:00:aa:93:02' name='two' ip='10.93.0.6'/>")
	taken := regexp.MustCompile("Name (taken by another resource|reserved already)")
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, Steps: []resource.TestStep{
		{Config: c("6", "one"), PlanOnly: true, ExpectError: taken},
		{Config: c("6", "two"), Check: both},
		{Config: c("6", "one"), PlanOnly: true, ExpectError: taken},
		{PreConfig: func() {
			virsh(t, "net-update", "accres0", "add", "ip-dhcp-host", "<host mac='52:54:00:aa:93:09' name='nine' ip='10.93.0.9'/>", "--live", "--config")
		}, Config: c("6", "nine"), PlanOnly: true, ExpectError: taken},
		{PreConfig: func() {
			virsh(t, "net-update", "accres0", "delete", "ip-dhcp-host", "<host mac='52:54:00:aa:93:09'/>", "--live", "--config")
		}, Config: c("6", "two"), ConfigPlanChecks: unchanged, Check: both},
	}})
}

func TestAccReservationGoesIntoTheNewNetwork(t *testing.T) {
	acctest.InSandbox(t)
	c := func(name string) string {
		return strings.Replace(config(reservation("r", "mac = \"52:54:00:aa:93:01\"\nip = \"10.93.0.5\"")), "accres0", name, 1)
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, Steps: []resource.TestStep{
		{Config: c("accres0")},
		{Config: c("accres0"), Taint: []string{"virtcluster_network.n"}, Check: hosts(t, "<host mac='52:54:00:aa:93:01' ip='10.93.0.5'/>")},
		{Config: c("accres1")},
	}})
}

func TestAccReservationBadInput(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	valid := reservation("r", "mac = \"52:54:00:aa:93:01\"\nip = \"10.93.0.5\"")
	steps := []resource.TestStep{{Config: config(valid)}}
	for _, c := range []struct{ attributes, want string }{
		{"mac = \"52:54:00:aa:93:02\"\nip = \"10.94.0.5\"", "Address outside the network"},
		{"mac = \"52:54:00:aa:93:02\"\nip = \"10.93.0.1\"", "Address of the gateway"},
		{"mac = \"52:54:00:aa:93:02\"\nip = \"10.93.0.255\"", "network or broadcast address"},
		{"mac = \"52:54:00:aa:93:02\"\nip = \"10.93.0.7\"\nhostname = \"\"", "Empty text"},
		{"mac = \"52:54:00:aa:93:02\"\nip = \"10.93.0.5\"", "(Address taken by another resource|Address reserved already)"},
		{"mac = \"52:54:00:aa:93:01\"\nip = \"10.93.0.7\"", "Machine has a reservation already"},
		{"mac = \"53:54:00:aa:93:02\"\nip = \"10.93.0.7\"", "is for many machines"},
		{"mac = \"52:54:00:aa:93\"\nip = \"10.93.0.7\"", "Invalid MAC address"},
		{"ip = \"10.93.0.7\"", "Missing MAC address"},
		{"mac = \"52:54:00:aa:93:02\"\nip = \"fd00:93::7\"", "MAC address of an IPv6 reservation"},
		{"mac = \"52:54:00:aa:93:02\"\nip = \"10.93.0\"", "Invalid address"},
	} {
		steps = append(steps, resource.TestStep{Config: config(valid, reservation("bad", c.attributes)), PlanOnly: true, ExpectError: regexp.MustCompile(c.want)})
	}
	steps = append(steps, resource.TestStep{Config: config(valid), ConfigPlanChecks: unchanged, Check: hosts(t, "<host mac='52:54:00:aa:93:01' ip='10.93.0.5'/>")})
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, Steps: steps})
}

func TestAccReservationInARangeFailsThePlan(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	spaced := func(text string) *regexp.Regexp {
		return regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(text), " ", `[\s│]+`))
	}
	valid := reservation("r", "mac = \"52:54:00:aa:93:01\"\nip = \"10.93.0.5\"")
	other := func(ip string) string { return reservation("other", "mac = \"52:54:00:aa:93:02\"\nip = \""+ip+"\"") }
	six := reservation("six", "duid = \"0:3:0:1:52:54:0:aa:93:6\"\nip = \"fd00:93::1ff\"")
	with := func(c, old, new string) string {
		if !strings.Contains(c, old) {
			t.Fatalf("%s is not in %s", old, c)
		}
		return strings.Replace(c, old, new, 1)
	}
	renamed := func(c string) string { return with(c, `"accres0"`, "\"accres0\"\n  domain = \"a.example\"") }
	literal := func(c string) string { return strings.ReplaceAll(c, "virtcluster_network.n.name", `"accres0"`) }
	fails := func(c, want string) resource.TestStep {
		return resource.TestStep{Config: c, PlanOnly: true, ExpectError: spaced(want)}
	}
	const range4 = `Network "accres0" gives 10.93.0.210 to 10.93.0.220 to any machine, so another one could have 10.93.0.`
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, Steps: []resource.TestStep{
		// Neither is there yet.
		fails(config(other("10.93.0.210")), range4+"210"),
		fails(config(six), "gives fd00:93::100 to fd00:93::1ff to any machine"),
		fails(literal(config(other("10.93.0.210"))), "in a DHCP range"), // whichever is planned first
		fails(config(other("10.94.0.5")), "write an address in there, not 10.94.0.5"),
		{Config: config(valid), Check: hosts(t, "ip='10.93.0.5'")},
		// The network stays as it is, and changes otherwise.
		fails(config(valid, other("10.93.0.220")), range4+"220"),
		fails(renamed(config(valid, other("10.93.0.220"))), range4+"220"),
		fails(with(config(valid), "10.93.0.5", "10.93.0.215"), range4+"215"),
		// A range that takes in what is reserved, by this configuration and by others.
		fails(with(config(valid), `start = "10.93.0.210"`, `start = "10.93.0.5"`), "10.93.0.5 is kept by the reservation of 10.93.0.5 for 52:54:00:aa:93:01, and in the range 10.93.0.5 to 10.93.0.220"),
		{PreConfig: func() {
			virsh(t, "net-update", "accres0", "add", "ip-dhcp-host", "<host mac='52:54:00:aa:93:09' ip='10.93.0.230'/>", "--live", "--config")
		}, Config: with(config(valid), `end = "10.93.0.220"`, `end = "10.93.0.240"`), PlanOnly: true, ExpectError: spaced("10.93.0.230 is kept by the reservation of 10.93.0.230 for 52:54:00:aa:93:09")},
		// One that is there stays.
		{PreConfig: func() {
			virsh(t, "net-update", "accres0", "add", "ip-dhcp-host", "<host mac='52:54:00:aa:93:02' ip='10.93.0.212'/>", "--live", "--config")
		}, Config: config(valid, other("10.93.0.212")), ResourceName: "virtcluster_dhcp_reservation.other", ImportState: true, ImportStateId: "accres0/52:54:00:aa:93:02", ImportStatePersist: true},
		{Config: config(valid, other("10.93.0.212")), ConfigPlanChecks: unchanged},
		{Config: with(renamed(config(valid, other("10.93.0.212"))), `end = "10.93.0.220"`, `end = "10.93.0.215"`), Check: hosts(t, "ip='10.93.0.5'", "ip='10.93.0.212'", "ip='10.93.0.230'")},
		// The network is not destroyed under a person's.
		{PreConfig: func() {
			virsh(t, "net-update", "accres0", "delete", "ip-dhcp-host", "<host mac='52:54:00:aa:93:09'/>", "--live", "--config")
		}, Config: with(renamed(config(valid, other("10.93.0.212"))), `end = "10.93.0.220"`, `end = "10.93.0.215"`), ConfigPlanChecks: unchanged},
	}})
}
