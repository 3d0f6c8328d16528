package ownunit

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// CheckPort returns who else than an instance listens at its TCP port already, as an error at the port's attribute; nil where nobody does. An
// invalid address is every one of the machine.
func (d *Daemon) CheckPort(ctx context.Context, h host.Host, instance string, attribute []any, address netip.Addr, port int64) error {
	out, err := h.Run(ctx, host.RepeatableScript("units.sh listeners", script, "listeners", d.UnitOf(instance), strconv.FormatInt(port, 10)))
	if err != nil {
		return err
	}
	for _, l := range ParseLook(string(out)).Listeners("tcp") {
		if l.Takes(address) {
			return service.At(attribute, fmt.Errorf("%s on %s listens at %s already: end it, or write another port", l.Process, h, l.Socket))
		}
	}
	return nil
}
