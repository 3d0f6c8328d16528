package faults

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// exposureSubject leads a port to one guest before, and to another after. No program serves it, so it is not among the subjects
// whose daemons can be stopped.
var exposureSubject = subject{
	Daemon: exposure.Daemon{}, dir: "/var/lib/virtcluster/exposure",
	set: func(tree transaction.Tree, version string) error {
		return exposure.Set(tree, exposure.Exposure{
			Name: "faults", Kind: exposure.ExternalIP, Address: netip.MustParseAddr("10.19.41.236"), Interface: "eth1", ConfigureAddress: true,
			Ports:   map[string]exposure.Port{"ssh": {Port: 22, TargetPort: 22, Protocol: exposure.TCP}},
			Targets: []netip.Addr{netip.MustParseAddr(map[string]string{before: "10.0.100.51", after: "10.0.100.52"}[version])},
		}, owner.Mark{})
	},
	drop: func(tree transaction.Tree) error { return exposure.Drop(tree, "faults") },
	asked: [][]string{
		{"SVC", "sh", "-c", `nft list chain inet virtcluster prerouting | sed -n 's/.*dnat ip to \([0-9.]*\):.*/\1/p'`},
		{"SVC", "sh", "-c", `iptables -S VIRTCLUSTER | sed -n 's/.* -d \([0-9.]*\).*/\1/p'`},
		{"SVC", "sh", "-c", `ip -o address show dev eth1 to 10.19.41.236 | grep -q . && sed -n 's/.*"\(10.0.100.5.\)".*/\1/p' /var/lib/virtcluster/exposure/entries/faults.json`},
	},
	answer: map[string]string{before: "10.0.100.51", after: "10.0.100.52"},
}

// exposureChange is an edit, and what is exposed when it has come to its end; "" for nothing.
type exposureChange struct {
	edit           transaction.Edit
	begins, serves string
}

// endExposure takes the exposure away.
var endExposure = transaction.Edit{Owner: "faults", Apply: exposureSubject.drop, Removes: true}

// exposureChanges are what a resource does to an exposure, by the words of Terraform.
var exposureChanges = map[string]exposureChange{
	"create":  {exposureSubject.edit(before, nil), "", before},
	"update":  {exposureSubject.edit(after, nil), before, after},
	"destroy": {endExposure, before, ""},
}

// exposureLeft prints what a machine has that exposes nothing any more.
const exposureLeft = `nft list ruleset | grep -e virtcluster -e VIRTCLUSTER; ip -o address show to 10.19.41.236; ls -d /run/virtcluster-exposure 2>/dev/null
find /etc/systemd/system -name '*virtcluster*'; find /var/lib/virtcluster/exposure -type f ! -name original.json 2>/dev/null; cat /proc/sys/net/ipv4/ip_forward`

// TestAccProviderKilledAtEveryStepOfAnExposure does to what a machine exposes what TestAccProviderKilledAtEveryStepOfACommit does to daemons,
// and to its beginning and its end.
func TestAccProviderKilledAtEveryStepOfAnExposure(t *testing.T) {
	opts := begin(t)
	s, h := exposureSubject, machine(t, opts)
	nothing := acctest.On(t, "svc-1", "sh", "-c", exposureLeft)
	t.Cleanup(func() {
		if err := new(transaction.Engine).Commit(context.Background(), machine(t, opts), s.Daemon, endExposure); err != nil {
			t.Errorf("end the exposure: %v", err)
		}
	})
	become := func(when, version string) {
		t.Helper()
		edit := endExposure
		if version != "" {
			edit = s.edit(version, nil)
		}
		if err := s.commit(t, h, edit); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
	}
	for name, change := range exposureChanges {
		t.Run(name, func(t *testing.T) {
			step := 1
			for ; ; step++ {
				become("begin", change.begins)
				out, err := client(opts, "killed-exposing", name, strconv.Itoa(step)).CombinedOutput()
				if err == nil {
					break
				}
				when := fmt.Sprintf("killed at step %d", step)
				if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("%s: %v: %s", when, err, out)
				}
				// The next apply does the same again, and comes to the same end.
				become("after one that was "+when, change.serves)
				if change.serves != "" {
					s.serves(t, "after one that was "+when, change.serves)
				} else if left := acctest.On(t, "svc-1", "sh", "-c", exposureLeft); left != nothing {
					t.Errorf("%s: left\n%s\nwhere there was\n%s", when, left, nothing)
				}
				if left := acctest.On(t, "svc-1", "find", "/var/lib/virtcluster", "-name", "*journal*", "-o", "-name", "*.virtcluster-new"); left != "" {
					t.Errorf("%s: left %s", when, left)
				}
			}
			if step < 10 {
				t.Errorf("only %d steps: the fuse does not burn", step)
			}
			t.Logf("%d steps", step-1)
		})
	}
}
