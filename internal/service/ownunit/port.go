package ownunit

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// CheckPort returns who else than an instance listens at its TCP port already, as an error at the port's attribute; nil where nobody does. An
// invalid address is every one of the machine.
func (d *Daemon) CheckPort(ctx context.Context, h host.Host, instance string, attribute []any, address netip.Addr, port int64) error {
	cmd := host.Script("units.sh listeners", script, "listeners", d.UnitOf(instance), strconv.FormatInt(port, 10))
	cmd.Repeatable = true
	out, err := h.Run(ctx, cmd)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line) // state, two queues, the own address, the other's, and the process
		if len(words) < 5 {
			continue
		}
		at, _, _ := strings.Cut(strings.Trim(words[3][:max(0, strings.LastIndex(words[3], ":"))], "[]"), "%")
		taken, err := netip.ParseAddr(at)
		if err != nil || taken.IsUnspecified() || !address.IsValid() || taken == address {
			return service.At(attribute, fmt.Errorf("%s on %s listens at %s already: end it, or write another port", Process(words[len(words)-1]), h, words[3]))
		}
	}
	return nil
}
