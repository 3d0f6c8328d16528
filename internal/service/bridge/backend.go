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

// chooseBackend returns what shall keep the bridge: what manages its interfaces, unless the configuration names it. A bridge stays
// with what keeps it.
func (b Bridge) chooseBackend(managers hostnet.Managers, was Record) (string, error) {
	at := []any{"backend"}
	if b.Backend == "" {
		b.Backend = hostnet.Auto // as a configuration that says nothing
	}
	if was.Want.ActiveBackend != "" && (b.Backend == hostnet.Auto || b.Backend == was.Want.ActiveBackend) {
		return was.Want.ActiveBackend, nil
	}
	found, by := "", ""
	for i, name := range b.Interfaces {
		m := managers.Of(name)
		if len(m.Others) > 0 {
			return "", service.At([]any{"interfaces", i}, fmt.Errorf("%s is managed by %s and by %s: leave it to one of them", name, m.Backend, strings.Join(m.Others, " and ")))
		}
		backend := m.Backend
		if backend == hostnet.Netplan {
			backend = hostnet.Networkd // it renders for that, and gives way to files of the machine's own
		}
		if found != "" && backend != found && b.Backend == hostnet.Auto {
			return "", service.At(at, fmt.Errorf("%s manages %s and %s manages %s: name the backend", found, by, backend, name))
		}
		if b.Backend != hostnet.Auto && b.Backend != hostnet.Runtime && backend != hostnet.Runtime && backend != b.Backend {
			return "", service.At(at, fmt.Errorf("%s is managed by %s, which would take it back: write \"auto\" or %q", name, backend, backend))
		}
		found, by = backend, name
	}
	if b.Backend == hostnet.Auto {
		return found, nil
	}
	if !managers.Installed[b.Backend] {
		return "", service.At(at, fmt.Errorf("%s is not in use on the machine: write \"auto\", or install and start it", b.Backend))
	}
	return b.Backend, nil
}

// needsManager refuses what a bridge that nothing keeps cannot have.
func (b Bridge) needsManager(backend string) error {
	if backend != hostnet.Runtime {
		return nil
	}
	checked := b
	checked.Backend = backend
	for _, p := range checked.Validate() {
		if slices.Contains([]any{"addresses", "nameservers"}, p.Path[0]) {
			return service.At(p.Path, fmt.Errorf("nothing manages %q on the machine: %s", b.Interfaces, p.Detail))
		}
	}
	return nil
}

// keep is the change that makes, changes or removes a bridge by a backend that keeps it; to is nil for its removal.
func keep(ctx context.Context, h host.Host, from, to *Record) (hostnet.Change, error) {
	var was, want []hostnet.Setup
	var mark owner.Mark
	backend := ""
	if from != nil {
		was, backend = from.setups(), from.Want.ActiveBackend
	}
	if to != nil {
		want, mark, backend = to.setups(), to.Mark, to.Want.ActiveBackend
	}
	c, err := hostnet.ChangeSetups(ctx, h, hostnet.Backends[backend], was, want, mark)
	if err != nil {
		return c, fmt.Errorf("on %s: %w", h, err)
	}
	// What nothing managed before, nothing brings back.
	var back hostnet.Batch
	for _, r := range []*Record{from, to} {
		if r == nil {
			continue
		}
		for _, p := range r.Before {
			stays := to != nil && slices.Contains(to.Want.Interfaces, p.Name)
			if p.Manager.Backend == hostnet.Runtime && !(r == from && stays) {
				back.Give(p.Name, p.Settings)
			}
		}
	}
	switch restore := hostnet.RunBatch(back, true); {
	case restore == "":
	case to == nil:
		c.Do += restore
	case from == nil:
		c.Undo += restore
	}
	return c, nil
}
