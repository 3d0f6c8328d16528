package dhcpreservation_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const shared = "52:54:00:aa:93:01"

// reserving is a configuration of reservations on a network that is there, by their names: MAC address and address.
func reserving(pairs ...string) string {
	var all strings.Builder
	for i := 0; i < len(pairs); i += 3 {
		fmt.Fprintf(&all, "resource \"virtcluster_dhcp_reservation\" %q {\n  network = \"accres0\"\n  mac = %q\n  ip = %q\n}\n", pairs[i], pairs[i+1], pairs[i+2])
	}
	return all.String()
}

// withNetwork makes the network in a state of its own.
func withNetwork(t *testing.T) *acctest.State {
	t.Helper()
	acctest.InSandbox(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(network)
	return s
}

func TestAccReservationOfAnotherStateStays(t *testing.T) {
	acctest.BothCLIs(t)
	withNetwork(t)
	first, second := acctest.NewState(t), acctest.NewState(t)
	first.DestroyAtEnd()
	first.Apply(reserving("r", shared, "10.93.0.5"))
	second.Write(reserving("r", shared, "10.93.0.5"))
	second.Refused([]string{"belongs to another state", "accres0/" + shared}, "apply", "-auto-approve")
	second.Write(reserving("r", shared, "10.93.0.6"))
	second.Refused([]string{"MAC address reserved already"}, "apply", "-auto-approve")
	second.Write(reserving("r", "52:54:00:aa:93:02", "10.93.0.5"))
	second.Refused([]string{"Address reserved already"}, "apply", "-auto-approve")
	first.Settled()
	// An import takes it over knowingly: the first one leaves it alone from then on.
	second.Write(reserving("r", shared, "10.93.0.5"))
	second.Run("import", "virtcluster_dhcp_reservation.r", "accres0/"+shared)
	second.Apply(reserving("r", shared, "10.93.0.6"))
	second.Apply(reserving("r", shared, "10.93.0.5"))
	if out := first.Run("destroy", "-auto-approve"); !strings.Contains(out, "belongs to another state") {
		t.Errorf("the first state says nothing of what it leaves:\n%s", out)
	}
	hosts(t, "<host mac='"+shared+"' ip='10.93.0.5'/>")(nil)
	second.Run("destroy", "-auto-approve")
	hosts(t)(nil)
}

func TestAccReservationThatAPersonMadeIsUsedAndStays(t *testing.T) {
	acctest.InSandbox(t)
	withNetwork(t)
	virsh(t, "net-update", "accres0", "add", "ip-dhcp-host", "<host mac='"+shared+"' ip='10.93.0.5'/>", "--live", "--config")
	s := acctest.NewState(t)
	s.Apply(reserving("r", shared, "10.93.0.5"))
	s.Settled()
	s.Write(reserving("r", shared, "10.93.0.6"))
	s.Refused([]string{"this provider did not write it", "import it as"}, "apply", "-auto-approve")
	s.Run("destroy", "-auto-approve")
	hosts(t, "<host mac='"+shared+"' ip='10.93.0.5'/>")(nil)
	// The network of the test is not destroyed under it.
	virsh(t, "net-update", "accres0", "delete", "ip-dhcp-host", "<host mac='"+shared+"'/>", "--live", "--config")
}

func TestAccReservationOfAKilledRunIsTakenOver(t *testing.T) {
	acctest.InSandbox(t)
	withNetwork(t)
	s := acctest.NewState(t)
	s.Apply(reserving("r", shared, "10.93.0.5"))
	s.Forget()
	s.Refused([]string{"finished in this workspace", "import it as"}, "apply", "-auto-approve")
	acctest.UnfinishNetwork(t, "accres0")
	s.Apply(reserving("r", shared, "10.93.0.5"))
	s.Settled()
	if xml := virsh(t, "net-dumpxml", "accres0", "--inactive"); regexp.MustCompile(`virtcluster-hosts:host [^>]*creating=`).MatchString(xml) {
		t.Errorf("it stays marked as unfinished:\n%s", xml)
	}
	s.Run("destroy", "-auto-approve")
	hosts(t)(nil)
	if xml := virsh(t, "net-dumpxml", "accres0", "--inactive"); strings.Contains(xml, "virtcluster-hosts") {
		t.Errorf("a mark is left:\n%s", xml)
	}
}

func TestAccReservationsSwapTheirAddresses(t *testing.T) {
	acctest.BothCLIs(t)
	withNetwork(t)
	const other, third = "52:54:00:aa:93:02", "52:54:00:aa:93:03"
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(reserving("a", shared, "10.93.0.5", "b", other, "10.93.0.6"))
	s.Apply(reserving("a", shared, "10.93.0.6", "b", other, "10.93.0.5"))
	swapped := hosts(t, "<host mac='"+shared+"' ip='10.93.0.6'/>", "<host mac='"+other+"' ip='10.93.0.5'/>")
	swapped(nil)
	s.Settled()
	// One after the other the first cannot know that the second will give its address up. The second does know.
	s.Write(reserving("a", shared, "10.93.0.5", "b", other, "10.93.0.6"))
	s.Refused([]string{"reserved already"}, "apply", "-auto-approve", "-parallelism=1")
	s.Run("apply", "-auto-approve", "-parallelism=1")
	s.Settled()
	// Of what was not chosen nobody knows whether it moves.
	s.Write(reserving("a", shared, "10.93.0.6", "b", other, "10.93.0.5"))
	s.Refused([]string{"reserved already"}, "apply", "-auto-approve", "-target=virtcluster_dhcp_reservation.b")
	hosts(t, "<host mac='"+shared+"' ip='10.93.0.5'/>", "<host mac='"+other+"' ip='10.93.0.6'/>")(nil)
	// What one leaves in the same plan another may have.
	s.Apply(reserving("a", shared, "10.93.0.7", "c", third, "10.93.0.5"))
	s.Settled()
	hosts(t, "<host mac='"+shared+"' ip='10.93.0.7'/>", "<host mac='"+third+"' ip='10.93.0.5'/>")(nil)
	s.Write(reserving("a", shared, "10.93.0.5", "c", third, "10.93.0.5"))
	s.Refused([]string{"Address taken by another resource"}, "plan")
}

func TestAccReservationGoesAlongWithItsNetworksSubnet(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	c := func(subnet, of string) string {
		n := strings.NewReplacer("10.93.0.", subnet+".").Replace(network)
		return n + strings.ReplaceAll(reserving("r", shared, of+".5"), `"accres0"`, "virtcluster_network.n.name")
	}
	s := acctest.NewState(t)
	s.Apply(c("10.93.0", "10.93.0"))
	s.Write(c("10.96.0", "10.93.0"))
	s.Refused([]string{"Address outside the network", "10.96.0.0/24", "write an address in there"}, "plan")
	s.Apply(c("10.96.0", "10.96.0"))
	s.Settled()
	hosts(t, "<host mac='"+shared+"' ip='10.96.0.5'/>")(nil)
	// One that the network left behind is removed all the same.
	virsh(t, "net-destroy", "accres0")
	xml := virsh(t, "net-dumpxml", "accres0", "--inactive")
	file := t.TempDir() + "/n.xml"
	acctest.Run(t, "sh", "-c", `printf %s "$1" | sed "s/<ip address='10.96.0/<ip address='10.97.0/; s/10.96.0.2\([12]\)0/10.97.0.2\10/g" >"$0"`, file, xml)
	virsh(t, "net-define", file)
	virsh(t, "net-start", "accres0")
	s.Run("destroy", "-auto-approve", "-target=virtcluster_dhcp_reservation.r")
	hosts(t)(nil)
	s.Run("destroy", "-auto-approve")
}
