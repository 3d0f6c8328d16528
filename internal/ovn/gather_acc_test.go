package ovn_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// machine is one of the sandbox, whose sockets are reached by its root.
type machine struct{ root string }

func (m machine) String() string { return m.root }

func (m machine) DialUnix(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", m.root+path)
}

func (m machine) Read(_ context.Context, path string) ([]byte, error) {
	return os.ReadFile(m.root + path) //nolint:gosec // a path of the test's
}

// openCentral has a machine of the sandbox run OVN's databases, and returns it, the northbound one, and how that is asked otherwise.
func openCentral(t *testing.T) (machine, *ovn.Northbound, func(argv ...string) string) {
	t.Helper()
	name := acctest.Hypervisors(t, 1)[0]
	acctest.StartOVNCentral(t, name)
	pid, err := os.ReadFile("/run/sandbox/nodes/" + name + "/pid")
	if err != nil {
		t.Fatal(err)
	}
	nspawn := strings.TrimSpace(string(pid))
	leader, err := os.ReadFile("/proc/" + nspawn + "/task/" + nspawn + "/children")
	if err != nil {
		t.Fatal(err)
	}
	at := machine{"/proc/" + strings.TrimSpace(string(leader)) + "/root"}
	n := ovn.NewNorthbound(at, nil)
	t.Cleanup(n.Close)
	return at, n, acctest.Northbound(t, name)
}

// makeTogether creates networks at the same time, each with a claim of its own, and returns what came of each.
func makeTogether(ctx context.Context, n *ovn.Northbound, names ...string) []error {
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			store := ovn.OpenStore(n, ovn.NewNetwork(name), name, owner.BeginRun().New())
			_, errs[i] = store.Create(ctx, ovn.Network{Name: name, Mode: ovn.Translated, CIDR: netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/24", i)), DHCP: &ovn.DHCP{LeaseSeconds: 600}})
			if err := store.FinishMark(ctx); errs[i] == nil {
				errs[i] = err
			}
		})
	}
	all.Wait()
	return errs
}

// Changes that arrive together are few transactions, and each has what it would have had alone: who wants what somebody has is refused, and nobody
// else with it.
func TestAccOVNChangesThatArriveTogether(t *testing.T) {
	acctest.InSandbox(t)
	_, n, nb := openCentral(t)
	counter := func() int {
		number, err := strconv.Atoi(nb("get", "NB_Global", ".", "nb_cfg"))
		if err != nil {
			t.Fatal(err)
		}
		return number
	}
	nb("ls-add", "persons")
	names := []string{"persons", "twice", "twice"}
	for i := range 30 {
		names = append(names, fmt.Sprintf("net-%d", i))
	}
	before := counter()
	errs := makeTogether(t.Context(), n, names...)
	used := counter() - before
	t.Logf("%d networks, made by %d transactions", len(names)-2, used)
	if used > 15 {
		t.Errorf("%d transactions for what arrived together", used)
	}
	foreign := 0
	for i, err := range errs {
		switch name := names[i]; {
		case errors.As(err, new(*owner.ForeignError)) && (name == "persons" || name == "twice"):
			foreign++
		case err != nil:
			t.Errorf("network %q: %v", name, err)
		case name == "persons":
			t.Errorf("a person's network was taken")
		}
	}
	if foreign != 2 {
		t.Errorf("%d of them were refused", foreign)
	}
	listed := nb("--bare", "--columns=name", "list", "Logical_Switch")
	if got := len(strings.Fields(listed)); got != len(names)-1 {
		t.Errorf("there are %d networks: %s", got, listed)
	}
	if told := strings.Fields(nb("--bare", "--columns=_uuid", "find", "DHCP_Options")); len(told) != len(names)-2 {
		t.Errorf("%d networks tell their guests something", len(told))
	}
	if marks := nb("--bare", "--columns=external_ids", "list", "Logical_Switch"); strings.Contains(marks, "creating=") {
		t.Errorf("marks are not finished: %s", marks)
	}
}

// Who does not wait any more when its turn comes gets nothing made, and those beside it do.
func TestAccOVNChangeOfWhoLeftIsNotMade(t *testing.T) {
	acctest.InSandbox(t)
	_, n, nb := openCentral(t)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if err := makeTogether(ctx, n, "gone")[0]; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := makeTogether(t.Context(), n, "there")[0]; err != nil {
		t.Error(err)
	}
	if listed := strings.Fields(nb("--bare", "--columns=name", "list", "Logical_Switch")); len(listed) != 1 || listed[0] != "there" {
		t.Errorf("there is %v", listed)
	}
}
