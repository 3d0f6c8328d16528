package vip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
)

// listenForStrangers waits on the wire of every member for a stranger who advertises the id that is about to be used, for
// a little more than an advertisement of one second. An id that the VIP has already needs no proof.
func (s *Store) listenForStrangers(ctx context.Context, want keepalived.VIP, views Views, prior keepalived.VIP) error {
	if prior.RouterID == want.RouterID && slices.Equal(prior.Addresses, want.Addresses) {
		return nil
	}
	if slices.ContainsFunc(views, func(v view) bool { return v.instance != nil && v.instance.RouterID == want.RouterID }) {
		return nil // what is heard with this id is the VIP itself
	}
	var own []netip.Addr
	for _, m := range want.Members {
		own = append(own, m.Address)
	}
	strangers, errs := make([]netip.Addr, len(want.Members)), make([]error, len(want.Members))
	var wait sync.WaitGroup
	for i, m := range want.Members {
		wait.Go(func() {
			strangers[i], errs[i] = keepalived.Listen(ctx, views.findView(m.ID).host, m.Interface, m.Address.Is6(), want.RouterID, own)
		})
	}
	wait.Wait()
	for i, err := range errs {
		switch {
		case strangers[i].IsValid():
			return service.At([]any{"virtual_router_id"}, fmt.Errorf(
				"%s on %s hears advertisements with the virtual router id %d from %s, which is no member: no machine was changed; set virtual_router_id to another number from 1 to 255",
				want.Members[i].Interface, views.findView(want.Members[i].ID).host, want.RouterID, strangers[i]))
		case errors.Is(err, keepalived.ErrDeaf):
			tflog.Warn(ctx, "The id was not checked on the wire: the machine has no python to listen with", map[string]any{"member": want.Members[i].ID})
		case err != nil && isExit(err):
			tflog.Warn(ctx, "The id was not checked on the wire", map[string]any{"member": want.Members[i].ID, "error": strings.TrimSpace(err.Error())})
		case err != nil:
			return err
		}
	}
	return nil
}

func isExit(err error) bool {
	var exit *host.ExitError
	return errors.As(err, &exit)
}
