package network

import (
	"errors"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// TestAccAnInterruptedUnlistingIsSeenAndEnded ends an update that strikes a reservation out of the network's list before each of its
// requests that change something: it may be listed and not run, and never the other way round.
func TestAccAnInterruptedUnlistingIsSeenAndEnded(t *testing.T) {
	c := sandbox(t)
	withNetwork(t, c, "acc-dhcp", dualStack, true)
	uuid, err := c.NetworkUUID(t.Context(), "acc-dhcp")
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{Client: c, Ref: uuid, Owner: new(owner.Run).Adopt()}
	without, err := s.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	with := without
	dhcp := *without.DHCP
	dhcp.Hosts = map[string]Host{"52:54:00:00:00:01": {IP: ip("10.76.40.5")}, "52:54:00:00:00:02": {IP: ip("10.76.40.6")}}
	with.DHCP = &dhcp
	killed := errors.New("killed")
	for last := 1; ; last++ {
		if with, err = s.Update(t.Context(), without, with); err != nil {
			t.Fatal(err)
		}
		if got := with.Live.DHCP.Hosts; len(got) != 2 {
			t.Fatalf("of the listed reservations run %v", got)
		}
		changes := 0
		_, err = s.Update(failpoint.WithJudge(t.Context(), func(what string, answered bool) error {
			if !answered && (strings.HasPrefix(what, "define") || strings.HasPrefix(what, "update")) {
				changes++
			}
			if changes >= last {
				return killed
			}
			return nil
		}), with, without)
		if err == nil {
			break
		}
		got, err := s.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n, err := c.Network(t.Context(), uuid)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range n.Live.IPs[0].DHCP.Hosts {
			if _, listed := got.DHCP.Hosts[h.MAC]; !listed {
				t.Errorf("ended before change %d, %s runs and is not listed", last, h.MAC)
			}
		}
		if Equal(got.Definition, without.Definition) && !Equal(*got.Live, without.Definition) || last > 9 {
			t.Errorf("ended before change %d, it is %+v and runs %+v", last, got.DHCP, got.Live.DHCP)
		}
	}
	n, err := c.Network(t.Context(), uuid)
	if err != nil || n.Config.IPs[0].DHCP.Hosts != nil || n.Live.IPs[0].DHCP.Hosts != nil {
		t.Errorf("%v, %s", err, n.LiveXML)
	}
}

// TestAccMarksOfTwoProcessesStay has another process change the network between a read and a write of this one.
func TestAccMarksOfTwoProcessesStay(t *testing.T) {
	c, other := sandbox(t), sandbox(t)
	withNetwork(t, c, "acc-dhcp", dualStack, true)
	first, second := DHCPHost{MAC: "52:54:00:00:00:01", IP: ip("10.76.40.1")}, DHCPHost{MAC: "52:54:00:00:00:02", IP: ip("10.76.40.2")}
	here, there := machinesOn(c, "acc-dhcp"), machinesOn(other, "acc-dhcp")
	old, err := c.Network(t.Context(), "acc-dhcp")
	if err != nil {
		t.Fatal(err)
	}
	hasMarks := func(about string, want ...DHCPHost) {
		t.Helper()
		n, err := c.Network(t.Context(), "acc-dhcp")
		if err != nil {
			t.Fatal(err)
		}
		marks, err := parseHostMarks(n.ConfigXML)
		for _, h := range want {
			if err != nil || marks[h.Key()].ID == "" {
				t.Errorf("%s: the mark of %s is lost: %v, %v", about, h, marks, err)
			}
		}
	}
	if err := there.Put(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if err := markHost(t.Context(), c, old, first.Key(), hostMark{Mark: here.Owner.Mark(), OfMachine: true}); err != nil {
		t.Fatal(err)
	}
	hasMarks("another process marked since this one read", second)

	drops := failpoint.WithJudge(t.Context(), func(what string, answered bool) error {
		if answered && strings.HasPrefix(what, "reserve") {
			n, err := other.Network(t.Context(), "acc-dhcp")
			if err == nil {
				_, err = other.DefineNetwork(t.Context(), "acc-dhcp", strings.ReplaceAll(n.ConfigXML, here.Owner.Mark().ID, ""))
			}
			return err
		}
		return nil
	})
	if err := here.Put(drops, first); err != nil {
		t.Fatal(err)
	}
	hasMarks("another process wrote what it had read before", first, second)
}
