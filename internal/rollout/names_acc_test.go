package rollout_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// namesOf is a configuration of a zone with some names on the first service node.
func namesOf(t *testing.T, names ...string) string {
	t.Helper()
	var records []string
	for _, name := range names {
		records = append(records, fmt.Sprintf(`%s = { A = ["10.77.0.9"] }`, name))
	}
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "names" {
  endpoint = "ssh://root@%s"
  services = ["bind"]
}
resource "virtcluster_dns_zone" "turns" {
  service_node = virtcluster_service_node.names.id
  name         = "turns.example"
  ttl          = 1
  name_servers = ["ns"]
  records      = { ns = { A = [%q] }, %s }
}
`, acctest.ServiceNodes(t, 1)[0], acctest.Address("svc-1"), strings.Join(records, ", "))
}

// askNamesOf has this machine, whose Terraform asks, ask a server for names until the test ends.
func askNamesOf(t *testing.T, server string) {
	t.Helper()
	const file = "/etc/resolv.conf"
	was, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte("nameserver "+server+"\noptions timeout:1 attempts:1\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(file, was, 0o644); err != nil {
			t.Error(err)
		}
	})
}

// TestAccNodesAreReadyByTheirNames has nodes be ready by a name each, which a real BIND knows: one whose name is gone keeps the others from their
// turns, as does the one whose turn it is while BIND hangs, for as long as the turn's time lasts.
func TestAccNodesAreReadyByTheirNames(t *testing.T) {
	_, network, image := acctest.StageNodes(t, "noderollnames")
	names, s := acctest.NewState(t), acctest.NewState(t)
	names.DestroyAtEnd()
	s.DestroyAtEnd()
	names.Apply(namesOf(t, "a", "b", "c"))
	askNamesOf(t, acctest.Address("svc-1"))
	hang := func(signal string) { acctest.On(t, "svc-1", "systemctl", "kill", "--signal="+signal, "named") }
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "svc-1", "systemctl", "kill", "--signal=CONT", "named")
	})
	config := func(patience string) string {
		return masters(image, network, fmt.Sprintf(`dns = "${each.key}.turns.example", timeout = %q`, patience), `timeout = "8s"`)
	}
	s.Apply(config("1m"))
	s.Settled()

	s.Apply(withMemory(config("1m"), 144))
	if got := memories(t); count(got, "147456") != 3 {
		t.Errorf("their memory is %v", got)
	}
	names.Apply(namesOf(t, "a", "c"))
	s.Write(withMemory(config("1m"), 160))
	s.Refused([]string{`node "acc-a" stays as it is: for`, `waited for node "acc-b", which is not ready (`, "b.turns.example"}, "apply", "-auto-approve", `-target=virtcluster_node.n["a"]`)
	if got := memories(t); count(got, "147456") != 3 {
		t.Errorf("with a name gone their memory is %v", got)
	}
	names.Apply(namesOf(t, "a", "b", "c"))

	hang("STOP")
	apply := s.Start("apply", "-auto-approve")
	acctest.Eventually(t, "no turn begins", func() bool { return count(memories(t), "163840") == 1 })
	time.Sleep(5 * time.Second)
	if got := memories(t); count(got, "163840") != 1 {
		t.Errorf("while nobody knows whether the first one is ready their memory is %v", got)
	}
	hang("CONT")
	if err := apply.Wait(); err != nil {
		t.Errorf("%v\n%s", err, apply.Out.String())
	}
	if got := memories(t); count(got, "163840") != 3 {
		t.Errorf("their memory is %v", got)
	}
	leavesNoTurn(t)
	s.Settled()

	hang("STOP")
	s.Write(withMemory(config("4s"), 176))
	s.Refused([]string{".turns.example is not ready after 4s", "the others stay as they are"}, "apply", "-auto-approve")
	if got := memories(t); count(got, "180224") != 1 {
		t.Errorf("after a turn that failed their memory is %v", got)
	}
	hang("CONT")
	s.Apply(withMemory(config("1m"), 176))
	if got := memories(t); count(got, "180224") != 3 {
		t.Errorf("their memory is %v", got)
	}
	leavesNoTurn(t)
	s.Settled()
}
