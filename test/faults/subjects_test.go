package faults

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// The configurations that a subject serves: the one before a fault, and the one that the fault meets.
const before, after = "old", "new"

// subject is a real daemon on the first service node, whose configuration says before or after.
type subject struct {
	transaction.Daemon
	unit, dir string
	set       func(tree transaction.Tree, version string) error
	drop      func(tree transaction.Tree) error
	// asked lists the commands that ask the daemon what it serves, and answer what each prints for a version:
	// a configuration that is served whole gives one version to all of them.
	asked  [][]string
	answer map[string]string
	// refused spoils a configuration so that the checker sees it, fails so that only the daemon does; nil
	// where there is no such thing.
	refused, fails func(tree transaction.Tree) error
}

var haproxySubject = subject{
	Daemon: haproxy.Daemon{}, unit: "haproxy.service", dir: "/etc/haproxy",
	set: func(tree transaction.Tree, version string) error {
		return errors.Join(haproxy.SetProxy(tree, saying("faults-a", 8088, version), owner.Mark{}), haproxy.SetProxy(tree, saying("faults-b", 8089, version), owner.Mark{}))
	},
	drop: func(tree transaction.Tree) error {
		return errors.Join(haproxy.DropProxy(tree, "frontend", "faults-a"), haproxy.DropProxy(tree, "frontend", "faults-b"))
	},
	asked:  [][]string{{"curl", "-sS", "--max-time", "3", "http://NODE:8088/"}, {"curl", "-sS", "--max-time", "3", "http://NODE:8089/"}},
	answer: map[string]string{before: before, after: after},
	refused: func(tree transaction.Tree) error {
		f := saying("faults-a", 8088, after)
		f.Extra = []string{"nonsense"}
		return haproxy.SetProxy(tree, f, owner.Mark{})
	},
	// The checker does not open sockets: that sshd has this one shows at the reload.
	fails: func(tree transaction.Tree) error {
		return haproxy.SetProxy(tree, saying("faults-c", 22, after), owner.Mark{})
	},
}

// saying is a frontend that answers with a word.
func saying(name string, port int64, word string) haproxy.Frontend {
	return haproxy.Frontend{
		Name: name, Mode: "http", Binds: []haproxy.Bind{{Address: "*", Port: port}}, Timeouts: map[string]string{"client": "5s"},
		Extra: []string{"http-request return status 200 content-type text/plain string " + word},
	}
}

var bindSubject = subject{
	Daemon: bind.Daemon{}, unit: "named.service", dir: "/etc/bind",
	set: func(tree transaction.Tree, version string) error {
		err := bind.SetView(tree, bind.View{Name: "faults", Order: 10}, owner.Mark{})
		address := map[string]string{before: "192.0.2.1", after: "192.0.2.2"}[version]
		for _, name := range []string{"a.faults.example", "b.faults.example"} {
			err = errors.Join(err, bind.SetZone(tree, bind.Zone{
				View: "faults", Name: name, TTL: 60, SOA: bind.DefaultSOA, NameServers: []string{"ns." + name + "."},
				Records: bind.Records{"ns": {"A": {"192.0.2.53"}}, "v": {"A": {address}}},
			}, owner.Mark{}, time.Now()))
		}
		return err
	},
	drop: func(tree transaction.Tree) error {
		return errors.Join(bind.DropZone(tree, "faults", "a.faults.example"), bind.DropZone(tree, "faults", "b.faults.example"), bind.DropView(tree, "faults"))
	},
	asked: [][]string{
		{"dig", "+short", "+time=2", "+tries=1", "@NODE", "v.a.faults.example"},
		{"dig", "+short", "+time=2", "+tries=1", "@NODE", "v.b.faults.example"},
	},
	answer: map[string]string{before: "192.0.2.1", after: "192.0.2.2"},
	refused: func(tree transaction.Tree) error {
		tree.Put("/etc/bind/named.conf", append(tree["/etc/bind/named.conf"].Content, "nonsense {\n"...), 0o644, "", "")
		return nil
	},
	// The checker runs as root: that named may not read the file shows at the reload.
	fails: func(tree transaction.Tree) error {
		for path, f := range tree {
			if strings.Contains(path, "/virtcluster/") && strings.Contains(path, "a.faults.example") {
				f.Mode, f.Owner, f.Group = 0o600, "root", "root"
				tree[path] = f
			}
		}
		return nil
	},
}

var keepalivedSubject = subject{
	Daemon: keepalived.Daemon{}, unit: "keepalived.service", dir: "/etc/keepalived",
	set:  func(tree transaction.Tree, version string) error { return keepalived.Set(tree, lone(77, version)) },
	drop: func(tree transaction.Tree) error { return keepalived.Drop(tree, "faults") },
	// What it serves is asked for by a signal, at which it writes a file.
	asked: [][]string{{"SVC", "sh", "-c", `rm -f /tmp/keepalived.data; pkill -USR1 -o -x keepalived && for _ in $(seq 50); do
	[ ! -s /tmp/keepalived.data ] || { sed -n 's/^ *Effective priority = //p' /tmp/keepalived.data | grep . && exit 0; }; sleep 0.1; done; exit 1`}},
	answer:  map[string]string{before: "100", after: "101"},
	refused: func(tree transaction.Tree) error { return keepalived.Set(tree, lone(300, after)) },
}

// lone is a VRRP instance without peers.
func lone(id int, version string) keepalived.Instance {
	return keepalived.Instance{
		Name: "faults", State: "BACKUP", Interface: "eth0", RouterID: id, Version: 3, AdvertInterval: 1,
		Priority:  map[string]int{before: 100, after: 101}[version],
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.100.177/24")},
	}
}

var subjects = []subject{haproxySubject, bindSubject, keepalivedSubject}

// edit makes the daemon's configuration say a version; spoil, which may be nil, goes on from there.
func (s subject) edit(version string, spoil func(transaction.Tree) error) transaction.Edit {
	return transaction.Edit{Owner: "faults", Apply: func(tree transaction.Tree) error {
		if err := s.set(tree, version); err != nil || spoil == nil {
			return err
		}
		return spoil(tree)
	}}
}

// serves fails the test unless the daemon answers with a version, or one of several, and with all of it.
func (s subject) serves(t *testing.T, when string, versions ...string) {
	t.Helper()
	got := map[string]bool{}
	for _, argv := range s.asked {
		machine := "hypervisor"
		if argv[0] == "SVC" {
			machine, argv = "svc-1", argv[1:]
		}
		words := make([]string, len(argv))
		for i, word := range argv {
			words[i] = strings.ReplaceAll(word, "NODE", acctest.ServiceNodes(t, 1)[0])
		}
		out, err := acctest.Try(t.Context(), machine, words...)
		if err != nil {
			out += " " + err.Error()
		}
		got[out] = true
	}
	for _, version := range versions {
		if len(got) == 1 && got[s.answer[version]] {
			return
		}
	}
	t.Errorf("%s: %s answers %v, want %v", when, s.Name(), got, versions)
}

// clean fails the test when a commit left anything behind, beside what it keeps for give-back.
func (s subject) clean(t *testing.T, when string) {
	t.Helper()
	left := acctest.On(t, "svc-1", "sh", "-c", `cd "/var/lib/virtcluster/$1" && find . -mindepth 1 ! -name original.json; find "$2" -name '*.virtcluster-new' -o -name '.virtcluster*'`, "sh", s.Name(), s.dir)
	if left != "" {
		t.Errorf("%s: left %s", when, left)
	}
}

// commit commits as a process of its own would.
func (s subject) commit(t *testing.T, h *sshhost.Host, edit transaction.Edit) error {
	t.Helper()
	return new(transaction.Engine).Commit(t.Context(), h, s.Daemon, edit)
}

// converges proves that the next commit makes the daemon serve after, and leaves nothing behind.
func (s subject) converges(t *testing.T, h *sshhost.Host) {
	t.Helper()
	if err := s.commit(t, h, s.edit(after, nil)); err != nil {
		t.Errorf("the next commit: %v", err)
	}
	s.serves(t, "after the next commit", after)
	s.clean(t, "after the next commit")
}

// start makes the daemon serve before; at the end of the test it gets back what it had.
func (s subject) start(t *testing.T, opts sshhost.Options) *sshhost.Host {
	t.Helper()
	t.Cleanup(func() {
		h := sshhost.New(sshhost.Target{User: "root", Host: acctest.ServiceNodes(t, 1)[0]}, opts)
		defer h.Close()
		engine := new(transaction.Engine)
		_, _, err := engine.GiveBack(context.Background(), h, s.Daemon)
		if used := new(transaction.InUseError); errors.As(err, &used) {
			err = engine.Commit(context.Background(), h, s.Daemon, transaction.Edit{Owner: "faults", Apply: s.drop, Removes: true})
			if err == nil {
				_, _, err = engine.GiveBack(context.Background(), h, s.Daemon)
			}
		}
		if err != nil {
			t.Errorf("give %s back: %v", s.Name(), err)
		}
		if out, err := acctest.Try(context.Background(), "svc-1", "systemctl", "stop", s.unit); err != nil {
			t.Errorf("stop %s: %v: %s", s.unit, err, out)
		}
	})
	h := machine(t, opts)
	if err := s.commit(t, h, s.edit(before, nil)); err != nil {
		t.Fatal(err)
	}
	s.serves(t, "at the start", before)
	return h
}
