package kea

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/ownunit"
)

var (
	// lookScript prints what is on the segment, and segmentProgram asks on the wire for it.
	//
	//go:embed look.sh
	lookScript string
	//go:embed segment.py
	segmentProgram string
)

// exitNoDevice is lookScript's status where there is no such device.
const exitNoDevice = 44

// lookAtSegment returns why no server can be made on the interface of want, as an error at its attribute: it is missing, has no address in the
// subnet, or another server answers there already. A machine that cannot listen proves nothing.
func lookAtSegment(ctx context.Context, h host.Host, want Server) error {
	out, err := h.Run(ctx, host.RepeatableScript("look for DHCP on "+want.Interface, lookScript, want.Interface, segmentProgram))
	if exit, failed := errors.AsType[*host.ExitError](err); failed && exit.Code == exitNoDevice {
		return service.At([]any{"interface"}, fmt.Errorf("there is no interface %s on %s", want.Interface, h))
	}
	if err != nil {
		return err
	}
	return judgeSegment(ownunit.ParseLook(string(out)), want, h.String())
}

func judgeSegment(look ownunit.Look, want Server, machine string) error {
	for _, l := range look.Listeners("port") {
		if l.TakesAll() && l.Process != "kea-dhcp4" {
			return service.At([]any{"interface"}, fmt.Errorf("%s on %s has port 67 of every interface already: end it, or have it listen elsewhere", l.Process, machine))
		}
	}
	own := look.Addresses()
	for _, a := range look["answers"] {
		server, err := netip.ParseAddr(a)
		if err != nil || slices.Contains(own, server) || want.Pair != nil && want.Pair.Peer == server {
			continue
		}
		return service.At([]any{"interface"}, fmt.Errorf("%s gives out addresses on the segment of %s on %s already, and machines would take what comes first: end that one, or make both a pair", server, want.Interface, machine))
	}
	if want.Subnet.IsValid() && !slices.ContainsFunc(own, want.Subnet.Contains) {
		return service.At([]any{"cidr"}, fmt.Errorf("%s on %s has no address in %s, which a server needs", want.Interface, machine, want.Subnet))
	}
	return nil
}
