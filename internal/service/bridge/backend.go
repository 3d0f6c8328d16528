package bridge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// needsManager refuses what a bridge that nothing keeps cannot have.
func (b Bridge) needsManager(backend string) error {
	if backend != hostnet.Runtime {
		return nil
	}
	for _, p := range b.WithoutManager() {
		return service.At(p.Path, fmt.Errorf("nothing manages %q on the machine: %s", b.allDevices(), p.Detail))
	}
	return nil
}

// changeKept is the change that makes, changes or removes a bridge by a backend that keeps it; to is nil for its removal.
func changeKept(ctx context.Context, h host.Host, now hostnet.Machine, from, to *Record) (hostnet.Change, error) {
	var was, want []hostnet.Setup
	var mark owner.Mark
	backend := ""
	if from != nil {
		was, backend = from.listSetups(), from.Want.ActiveBackend
		for i, s := range was {
			was[i].Elsewhere = slices.Contains(from.Want.physicalInterfaces(), s.Device) && from.Want.otherMaster(now, s.Device) != ""
		}
	}
	if to != nil {
		want, mark, backend = to.listSetups(), to.Mark, to.Want.ActiveBackend
	}
	c, err := hostnet.ChangeSetups(ctx, h, hostnet.Backends[backend], was, want, mark)
	if err != nil {
		return c, fmt.Errorf("on %s: %w", h, err)
	}
	// What nothing managed before, nothing brings back.
	var back hostnet.Batch
	ask := ""
	for _, r := range []*Record{from, to} {
		if r == nil {
			continue
		}
		for _, p := range r.Before {
			if r.Want.otherMaster(now, p.Name) != "" && from != nil {
				continue
			}
			stays := to != nil && slices.Contains(to.Want.physicalInterfaces(), p.Name)
			if p.Manager.Backend == hostnet.Runtime && !(r == from && stays) {
				if _, bonded := r.Want.masterOf(p.Name); bonded {
					back.Add("link set dev %s up", p.Name) // a bond leaves what it lets go of down
				}
				back.Give(p.Name, p.Settings)
				if p.Addressing.AcceptRA {
					ask += hostnet.AskRouters(p.Name)
				}
			}
		}
	}
	switch restore := hostnet.RunBatch(back, true) + ask + restoreMTUs(from, to); {
	case restore == "":
	case to == nil:
		c.Do += restore
	case from == nil:
		c.Undo += restore
	}
	return c, nil
}

// restoreMTUs is the script that gives interfaces the MTU that they had, where the bridge had another.
func restoreMTUs(from, to *Record) string {
	r := from
	if r == nil {
		r = to
	}
	var b strings.Builder
	devices := slices.Clone(r.Before)
	if r.Adopted != nil {
		devices = append(devices, *r.Adopted)
	}
	for _, p := range devices {
		if r.Want.MTU != 0 && p.MTU != 0 {
			fmt.Fprintf(&b, "ip link set dev %s mtu %d\n", p.Name, p.MTU)
		}
	}
	return b.String()
}

// allDevices are those of the machine that the bridge is made of.
func (b Bridge) allDevices() []string {
	devices := b.physicalInterfaces()
	for _, v := range b.VLANs {
		devices = append(devices, v.Parent)
	}
	return devices
}
