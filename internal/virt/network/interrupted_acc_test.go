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
