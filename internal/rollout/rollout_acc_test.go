package rollout_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
)

// masters is a group of nodes a, b and c, of which each serves at its port 8080, and what else is said of them.
func masters(image, network, ready, more string) string {
	return mastersOf(image, network, ready, more, "a", "b", "c")
}

// mastersOf are some of them.
func mastersOf(image, network, ready, more string, keys ...string) string {
	addresses := map[string]string{}
	for _, key := range keys {
		addresses[key] = map[string]string{"a": "10.77.0.1", "b": "10.77.0.2", "c": "10.77.0.3"}[key]
	}
	return acctest.ClusterOfNodes(image, network, fmt.Sprintf(`
  shutdown_timeout = "0s"
  allow_restart    = true
  rollout = {
    group = "masters"
    ready = { %s, interval = "500ms" }
%s
  }
`, ready, more), addresses)
}

// withMemory gives the nodes of a configuration some memory.
func withMemory(config string, memory int) string {
	return strings.Replace(config, "memory_mib         = 128", fmt.Sprintf("memory_mib         = %d", memory), 1)
}

const servesHTTP = `tcp = "${each.value}:8080"`

// watchGroup looks five times a second at how many of the nodes do not run, by virsh, and whether more of them than one do not serve. The
// result ends that, and returns the most that did not run at one time.
func watchGroup(t *testing.T, names ...string) (end func() int) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		most, looks := 0, 0
		for every := time.NewTicker(200 * time.Millisecond); ; looks++ {
			select {
			case <-stop:
				every.Stop()
				t.Logf("looked %d times", looks)
				done <- most
				return
			case <-every.C:
			}
			running := strings.Fields(acctest.Virsh(t, "list", "--name", "--state-running"))
			down := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(running, name) })
			if len(down) > 1 {
				t.Errorf("at one time %v do not run", down)
			}
			most = max(most, len(down))
		}
	}()
	return func() int {
		close(stop)
		return <-done
	}
}

// serves says which of the addresses take a connection at port 8080.
func serves(addresses ...string) (all []string) {
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, a := range addresses {
		group.Go(func() {
			if c, err := net.DialTimeout("tcp", a+":8080", 3*time.Second); err == nil {
				_ = c.Close()
				mu.Lock()
				defer mu.Unlock()
				all = append(all, a)
			}
		})
	}
	group.Wait()
	return all
}

// memories returns what the nodes have, in MiB.
func memories(t *testing.T) (all []string) {
	for _, name := range []string{"acc-a", "acc-b", "acc-c"} {
		for line := range strings.Lines(acctest.Virsh(t, "dominfo", name)) {
			if kib, ok := strings.CutPrefix(line, "Max memory:"); ok {
				all = append(all, strings.TrimSuffix(strings.TrimSpace(kib), " KiB"))
			}
		}
	}
	return all
}

// count counts a text.
func count(all []string, text string) (n int) {
	for _, a := range all {
		if a == text {
			n++
		}
	}
	return n
}

// leavesNoTurn wants no mark of a turn, and no domain that keeps a place.
func leavesNoTurn(t *testing.T) {
	t.Helper()
	for _, name := range strings.Fields(acctest.Virsh(t, "list", "--all", "--name")) {
		if strings.Contains(name, "@turn") || strings.Contains(acctest.Virsh(t, "dumpxml", "--inactive", name), "/turn/1") {
			t.Errorf("the mark of a turn is left on %s", name)
		}
	}
}

// refuseBadInput plans what cannot be beside a group "masters" of three that is there, in a state of its own.
func refuseBadInput(t *testing.T, image, network string) {
	for name, c := range map[string]struct{ config, group, says string }{
		"all of a new group":           {masters(image, network, servesHTTP, "max_unavailable = 3"), "others", "write at most 2"},
		"another limit elsewhere":      {mastersOf(image, network, servesHTTP, "max_unavailable = 2", "c"), "masters", `max_unavailable of group "masters" is 2 here, and 1 for node "acc-`},
		"its own drain, by its name":   {mastersOf(image, network, servesHTTP, `drain = { service_nodes = ["ssh://root@bad-c"] }`, "c"), "others", "Drained in its own turn"},
		"a command that is on nothing": {mastersOf(image, network, `command = ["true"]`, "", "c"), "others", "A command needs its machine"},
	} {
		t.Run(name, func(t *testing.T) {
			s := acctest.NewState(t)
			s.Write(strings.NewReplacer("acc-", "bad-", `"masters"`, fmt.Sprintf("%q", c.group)).Replace(c.config))
			s.Refused([]string{c.says}, "plan")
		})
	}
}

// TestAccNodesAreRestartedInTurns changes the memory of a group with a change that needs a restart: first in the apply that makes it a group, then
// so that the first machine does not become ready, on from there, and two at one time. A node that somebody switched off keeps the others from it,
// and does not keep all from being destroyed.
func TestAccNodesAreRestartedInTurns(t *testing.T) {
	_, network, image := acctest.StageNodes(t, "noderoll")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	names := []string{"acc-a", "acc-b", "acc-c"}
	config := masters(image, network, servesHTTP, "")
	s.Apply(strings.Replace(config, "  rollout = {", "  rollout = true ? null : {", 1))
	acctest.Eventually(t, "the guests do not serve", func() bool { return len(serves("10.77.0.1", "10.77.0.2", "10.77.0.3")) == 3 })
	s.Settled()
	s.Write(config)
	s.Refused([]string{"Made anew before it is of the group", "apply its rollout first"}, "plan", `-replace=virtcluster_node.n["a"]`)

	end := watchGroup(t, names...)
	s.Apply(withMemory(config, 144))
	if most := end(); most != 1 {
		t.Errorf("at most %d did not run at one time", most)
	}
	if got := memories(t); count(got, "147456") != 3 {
		t.Errorf("their memory is %v", got)
	}
	leavesNoTurn(t)
	s.Settled()
	t.Run("bad input is refused", func(t *testing.T) { refuseBadInput(t, image, network) })

	never := masters(image, network, `tcp = "${each.value}:9", timeout = "3s"`, "")
	s.Write(withMemory(never, 160))
	end = watchGroup(t, names...)
	s.Refused([]string{"of group \"masters\"", ":9 is not ready after 3s", "the others stay as they are", "apply again", "stays as it is, as the roll of group"}, "apply", "-auto-approve")
	if most := end(); most != 1 {
		t.Errorf("at most %d did not run at one time", most)
	}
	if got := memories(t); count(got, "163840") != 1 || count(got, "147456") != 2 {
		t.Errorf("after a turn that failed their memory is %v", got)
	}
	leavesNoTurn(t)

	end = watchGroup(t, names...)
	s.Apply(withMemory(config, 160))
	if most := end(); most != 1 {
		t.Errorf("at most %d did not run at one time", most)
	}
	if got := memories(t); count(got, "163840") != 3 {
		t.Errorf("their memory is %v", got)
	}
	s.Settled()

	s.Write(withMemory(masters(image, network, servesHTTP, "max_unavailable = 2"), 176))
	apply, ended, most := s.Start("apply", "-auto-approve"), make(chan error, 1), 0
	go func() { ended <- apply.Wait() }()
	for len(ended) == 0 {
		most = max(most, 3-len(serves("10.77.0.1", "10.77.0.2", "10.77.0.3")))
	}
	if err := <-ended; err != nil || most != 2 {
		t.Errorf("%v: at most %d did not serve at one time:\n%s", err, most, apply.Out.String())
	}
	s.Settled()

	acctest.Virsh(t, "destroy", "acc-c")
	s.Write(withMemory(masters(image, network, servesHTTP, `timeout = "5s"`), 192))
	s.Refused([]string{`node "acc-a" stays as it is: for`, `its turn in group "masters" waited for node "acc-c", which is not ready (it does not run)`},
		"apply", "-auto-approve", `-target=virtcluster_node.n["a"]`)
	if got := memories(t); count(got, "180224") != 3 {
		t.Errorf("after a turn that did not come their memory is %v", got)
	}
	leavesNoTurn(t)
	began := time.Now()
	s.Run("plan", "-destroy", "-out=gone")
	s.Run("apply", "gone")
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("a destroy of everything by a plan that was saved took %s, with one node off", took)
	}
}

// replaceAll has an apply make all of the group's nodes anew.
func replaceAll(more ...string) []string {
	argv := []string{"apply", "-auto-approve"}
	for _, key := range []string{"a", "b", "c"} {
		argv = append(argv, fmt.Sprintf(`-replace=virtcluster_node.n[%q]`, key))
	}
	return append(argv, more...)
}

// uuids returns the ids of the group's nodes.
func uuids(t *testing.T) (all []string) {
	t.Helper()
	for _, name := range []string{"acc-a", "acc-b", "acc-c"} {
		all = append(all, acctest.Virsh(t, "domuuid", name))
	}
	return all
}

// countKept counts the ids that are among those from before.
func countKept(before, now []string) (n int) {
	for _, id := range now {
		n += count(before, id)
	}
	return n
}

// TestAccNodesAreReplacedInTurns makes all nodes of a group anew in one apply: not with too little room for the creates, and then so that
// each destroy and its create are one turn. A destroy of everything does not wait.
func TestAccNodesAreReplacedInTurns(t *testing.T) {
	_, network, image := acctest.StageNodes(t, "nodeturns")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	names := []string{"acc-a", "acc-b", "acc-c"}
	s.Apply(masters(image, network, servesHTTP, ""))
	acctest.Eventually(t, "the guests do not serve", func() bool { return len(serves("10.77.0.1", "10.77.0.2", "10.77.0.3")) == 3 })

	before := uuids(t)
	end := watchGroup(t, names...)
	s.Refused([]string{"there is no room for its create: apply again with -parallelism=3 at least"}, replaceAll("-parallelism=2")...)
	if most := end(); most != 1 {
		t.Errorf("at most %d did not run at one time", most)
	}
	if now := uuids(t); countKept(before, now) != 2 {
		t.Errorf("before the refusal they were %v, and are %v", before, now)
	}
	leavesNoTurn(t)
	s.Settled()

	before = uuids(t)
	end = watchGroup(t, names...)
	if out := s.Run(replaceAll("-parallelism=3")...); !strings.Contains(out, "3 added, 0 changed, 3 destroyed") {
		t.Errorf("it says\n%s", out)
	}
	if most := end(); most != 1 {
		t.Errorf("at most %d did not run at one time", most)
	}
	if now := uuids(t); countKept(before, now) != 0 {
		t.Errorf("they were %v, and are %v", before, now)
	}
	leavesNoTurn(t)
	s.Settled()

	acctest.Virsh(t, "destroy", "acc-b")
	began := time.Now()
	s.Run("destroy", "-auto-approve")
	took := time.Since(began)
	t.Logf("a destroy of everything took %s, with one node off", took.Round(100*time.Millisecond))
	if took > 30*time.Second {
		t.Error("it waited")
	}
	if left := acctest.Virsh(t, "list", "--all", "--name"); strings.Contains(left, "acc-") {
		t.Errorf("after a destroy there are\n%s", left)
	}
}

// TestAccGroupOfTwoStatesTakesTurns has two states with nodes of one group change theirs at one time, one of which then goes for good.
func TestAccGroupOfTwoStatesTakesTurns(t *testing.T) {
	_, network, image := acctest.StageNodes(t, "nodestates")
	one, other := acctest.NewState(t), acctest.NewState(t)
	one.DestroyAtEnd()
	other.DestroyAtEnd()
	mine, theirs := mastersOf(image, network, servesHTTP, "", "a", "b"), mastersOf(image, network, servesHTTP, "", "c")
	one.Apply(mine)
	other.Apply(theirs)
	acctest.Eventually(t, "the guests do not serve", func() bool { return len(serves("10.77.0.1", "10.77.0.2", "10.77.0.3")) == 3 })

	end := watchGroup(t, "acc-a", "acc-b", "acc-c")
	one.Write(withMemory(mine, 144))
	other.Write(theirs)
	applies := []*acctest.Command{one.Start("apply", "-auto-approve"), other.Start("apply", "-auto-approve", `-replace=virtcluster_node.n["c"]`)}
	for _, apply := range applies {
		if err := apply.Wait(); err != nil {
			t.Errorf("%v\n%s", err, apply.Out.String())
		}
	}
	if most := end(); most != 1 {
		t.Errorf("at most %d did not run at one time", most)
	}
	leavesNoTurn(t)
	one.Settled()
	other.Settled()

	began := time.Now()
	one.Run("apply", "-auto-approve", `-replace=virtcluster_node.n["a"]`, `-target=virtcluster_node.n["a"]`)
	one.Write(withMemory(mastersOf(image, network, servesHTTP, "", "a"), 144))
	if out := acctest.JoinLines(one.Run("apply", "-auto-approve")); !strings.Contains(out, `node "acc-b" waits for up to a minute`) || !strings.Contains(out, "it is removed for good") {
		t.Errorf("the plan says nothing of the turn of what goes:\n%s", out)
	}
	if took := time.Since(began); took > 90*time.Second {
		t.Errorf("a replacement by its target and a removal for good took %s", took)
	}
	leavesNoTurn(t)
	one.Settled()
}

// TestAccNodeWhoseTurnWasKilled ends the provider while a node of a group is made anew, and while others wait: its place is kept, and the
// next apply goes on from there.
func TestAccNodeWhoseTurnWasKilled(t *testing.T) {
	_, network, image := acctest.StageNodes(t, "nodekilled")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(masters(image, network, servesHTTP, ""))
	acctest.Eventually(t, "the guests do not serve", func() bool { return len(serves("10.77.0.1", "10.77.0.2", "10.77.0.3")) == 3 })

	apply := s.Start(replaceAll()...)
	kept := ""
	// libvirt's files show what is defined sooner than virsh is begun: a node is made anew within some tenths of a second.
	isDefined := func(name string) bool {
		_, err := os.Stat("/etc/libvirt/qemu/" + name + ".xml")
		return err == nil
	}
	for deadline := time.Now().Add(3 * time.Minute); kept == ""; time.Sleep(5 * time.Millisecond) {
		for _, node := range []string{"acc-a", "acc-b", "acc-c"} {
			if isDefined(node+"@turn") && !isDefined(node) {
				kept = node
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("no node is made anew")
		}
	}
	if err := syscall.Kill(acctest.ProviderOf(t, apply.Process.Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := apply.Wait(); err == nil {
		t.Fatal("an apply whose provider was killed succeeded")
	}
	if left := acctest.Virsh(t, "list", "--all", "--name"); !strings.Contains(left, kept+"@turn") {
		t.Errorf("the place of %s is not kept:\n%s", kept, left)
	}

	// The first is made, and all others, which serve, wait for it.
	end := watchGroup(t, "acc-a", "acc-b", "acc-c")
	argv := slices.DeleteFunc(replaceAll(), func(argument string) bool { return strings.Contains(argument, strings.TrimPrefix(kept, "acc-")+`"]`) })
	s.Run(argv...)
	if most := end(); most != 1 {
		t.Errorf("at most %d did not run at one time", most)
	}
	leavesNoTurn(t)
	s.Settled()
}

// TestAccNodesAreDrainedBeforeTheirTurn has a group serve behind HAProxy while the memory of all of it is changed: nothing that a client
// asks is lost, and commands are run before and after each turn. One that does not exist changes nothing.
func TestAccNodesAreDrainedBeforeTheirTurn(t *testing.T) {
	_, network, image := acctest.StageNodes(t, "nodedrain")
	node, ip := haproxytest.Node(t)
	// libvirt lets nobody from outside into a network of mode nat.
	acctest.Run(t, "iptables", "-I", "FORWARD", "-d", "10.77.0.0/24", "-j", "ACCEPT")
	acctest.On(t, "svc-1", "ip", "route", "replace", "10.77.0.0/24", "via", haproxytest.Gateway)
	t.Cleanup(func() {
		acctest.Run(t, "iptables", "-D", "FORWARD", "-d", "10.77.0.0/24", "-j", "ACCEPT")
		haproxytest.Cleanup(t, "sh", "-c", "ip route del 10.77.0.0/24; rm -f /tmp/turns")
	})
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	group := func(before string) string {
		asked := fmt.Sprintf(`endpoint = %q, command = ["nc", "-zw1", each.value, "8080"]`, node)
		return masters(image, network, asked, fmt.Sprintf(`
    drain  = { service_nodes = [%[1]q], timeout = "3s" }
    before = { endpoint = %[1]q, command = %[2]s }
    after  = { endpoint = %[1]q, command = ["sh", "-c", "echo after $1 >>/tmp/turns", "sh", each.key] }
`, node, before)) + fmt.Sprintf(`
resource "virtcluster_haproxy" "base" {
  service_node = %[1]q
  timeouts     = { client = "1h", server = "1h" } # nothing but a turn ends a connection
}
resource "virtcluster_haproxy_backend" "api" {
  service_node   = virtcluster_haproxy.base.service_node
  name           = "api"
  mode           = "tcp"
  default_server = { check = true, inter = "500ms", fall = 2, rise = 1 }
  servers        = { for key, last in { a = 1, b = 2, c = 3 } : key => { address = "10.77.0.${last}", port = 8080 } }
}
resource "virtcluster_haproxy_frontend" "api" {
  service_node    = virtcluster_haproxy.base.service_node
  name            = "api"
  mode            = "tcp"
  binds           = [{ port = 8099 }]
  default_backend = virtcluster_haproxy_backend.api.name
}
`, node)
	}
	config := group(`["sh", "-c", "echo before $1 >>/tmp/turns", "sh", each.key]`)
	s.Apply(config)
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func() error {
		resp, err := client.Get("http://" + net.JoinHostPort(ip, "8099"))
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	acctest.Eventually(t, "the guests do not serve", func() bool { return len(serves("10.77.0.1", "10.77.0.2", "10.77.0.3")) == 3 && ask() == nil })
	time.Sleep(2 * time.Second) // the checks of HAProxy see all of them
	s.Settled()

	held := holdConnection(t, net.JoinHostPort(ip, "8099"))
	ended, lost := make(chan struct{}), make(chan error, 1)
	asked := 0
	go func() {
		defer close(lost)
		for every := time.NewTicker(100 * time.Millisecond); ; asked++ {
			select {
			case <-ended:
				every.Stop()
				return
			case <-every.C:
			}
			if err := ask(); err != nil {
				lost <- err
				return
			}
		}
	}()
	end := watchGroup(t, "acc-a", "acc-b", "acc-c")
	s.Write(withMemory(config, 144))
	if out := s.Run("apply", "-auto-approve"); !strings.Contains(out, "The node takes its turn") {
		t.Errorf("the plan says nothing of turns:\n%s", out)
	}
	if most := end(); most != 1 {
		t.Errorf("at most %d did not run at one time", most)
	}
	close(ended)
	if err := <-lost; err != nil {
		t.Errorf("of %d requests one was lost: %v", asked, err)
	}
	select {
	case lasted := <-held:
		t.Logf("a connection that was held was ended after %s", lasted.Round(100*time.Millisecond))
		if lasted < 3*time.Second {
			t.Error("it had no time to end")
		}
	default:
		t.Error("a connection that was held is not ended")
	}
	t.Logf("%d requests were answered", asked)
	turns := strings.Fields(strings.ReplaceAll(acctest.On(t, "svc-1", "cat", "/tmp/turns"), "\n", " "))
	for i := 0; i+3 < len(turns); i += 4 {
		if turns[i] != "before" || turns[i+2] != "after" || turns[i+1] != turns[i+3] {
			t.Errorf("the commands were run in the order %v", turns)
		}
	}
	if len(turns) != 12 {
		t.Errorf("the commands were run in the order %v", turns)
	}
	s.Settled()

	// The service node is down as the turn begins, and the turn waits for it.
	s.Write(withMemory(group(`["/no/such/command"]`), 160))
	s.Run("plan", "-out=plan")
	acctest.On(t, "svc-1", "systemctl", "stop", "haproxy")
	back := time.AfterFunc(5*time.Second, func() { haproxytest.Cleanup(t, "systemctl", "start", "haproxy") })
	s.Refused([]string{"rollout.before", "/no/such/command", "Of this machine, nothing was changed"}, "apply", "plan")
	if back.Stop() {
		t.Fatal("the turn did not wait for its service node")
	}
	if got := memories(t); count(got, "147456") != 3 {
		t.Errorf("after a command that does not exist their memory is %v", got)
	}
	leavesNoTurn(t)

	// The provider is killed while a node drains: what is drained takes connections again after the next apply.
	acctest.Eventually(t, "HAProxy leads nowhere", func() bool { return ask() == nil })
	s.Write(withMemory(config, 160))
	apply := s.Start("apply", "-auto-approve")
	acctest.Eventually(t, "no server is drained", func() bool { return drains(t) > 0 })
	if err := syscall.Kill(acctest.ProviderOf(t, apply.Process.Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := apply.Wait(); err == nil {
		t.Fatal("an apply whose provider was killed succeeded")
	}
	if drains(t) != 1 {
		t.Errorf("after the kill %d servers drain", drains(t))
	}
	end = watchGroup(t, "acc-a", "acc-b", "acc-c")
	s.Apply(withMemory(config, 160))
	if most := end(); most != 1 {
		t.Errorf("at most %d did not run at one time", most)
	}
	if drains(t) != 0 {
		t.Errorf("%d servers still drain", drains(t))
	}
	leavesNoTurn(t)
	s.Settled()
}

// drains counts the servers of HAProxy that drain.
func drains(t *testing.T) int {
	t.Helper()
	// The seventh field is what an administrator said of a server; 8 is that it drains (HAProxy's management guide, "show servers state").
	out := acctest.On(t, "svc-1", "sh", "-c", "echo show servers state api | socat - UNIX-CONNECT:/run/haproxy/admin.sock | awk 'NF > 10 && int($7 / 8) % 2 { n++ } END { print n + 0 }'")
	n, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// holdConnection opens a connection that says nothing. The result tells for how long it was open, once it is ended.
func holdConnection(t *testing.T, address string) <-chan time.Duration {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	ended, began := make(chan time.Duration, 1), time.Now()
	go func() {
		_, _ = c.Read(make([]byte, 1))
		ended <- time.Since(began)
	}()
	return ended
}
