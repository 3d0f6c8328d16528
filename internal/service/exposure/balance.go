package exposure

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Section is the name of the frontend and of the backend that carry a port. Neither name has a colon in it, so that no two ports of
// whatever exposures share one.
func Section(name, port string) string { return sectionsOf(name) + port }

func sectionsOf(name string) string { return "exposed-" + name + ":" }

// portFrontend and backend carry one port of a load balancer. A connection may be idle for an hour.
func (e Exposure) portFrontend(name string, p Port) haproxy.Frontend {
	return haproxy.Frontend{
		Name: Section(e.Name, name), Mode: "tcp", Timeouts: map[string]string{"client": "1m"}, DefaultBackend: Section(e.Name, name),
		Binds: []haproxy.Bind{e.portBind(p)},
	}
}

func (e Exposure) portBind(p Port) haproxy.Bind {
	return haproxy.Bind{Address: e.Address.String(), Port: int64(p.Port), Transparent: true}
}

// Binds are where HAProxy listens, by port.
func (e Exposure) Binds() map[string]haproxy.Bind {
	binds := map[string]haproxy.Bind{}
	for name, p := range e.Balanced() {
		if p.Port != 0 && e.Address.IsValid() {
			binds[name] = e.portBind(p)
		}
	}
	return binds
}

func (e Exposure) portBackend(name string, p Port) haproxy.Backend {
	b := haproxy.Backend{
		Name: Section(e.Name, name), Mode: "tcp", Balance: "roundrobin", Timeouts: map[string]string{"connect": "10s", "server": "1m", "tunnel": "1h"},
		Servers: map[string]haproxy.Server{},
	}
	check := true
	for _, t := range e.Targets {
		b.Servers[t.String()] = haproxy.Server{Address: t.String(), Port: int64(p.TargetPort), State: haproxy.Ready, Params: haproxy.Params{Check: &check}}
	}
	return b
}

// SetBalance has HAProxy's configuration carry what the rules do not, and nothing else of this exposure: what it carried before an update
// that ended half-way goes too.
func SetBalance(t transaction.Tree, want Exposure, claim owner.Claim) error {
	for _, section := range listLeft(t, want, claim) {
		if err := haproxy.DropProxy(t, "frontend", section); err != nil {
			return err
		}
		if err := haproxy.DropProxy(t, "backend", section); err != nil {
			return err
		}
	}
	ports := want.Balanced()
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		name := Section(want.Name, port)
		for _, kind := range []string{"frontend", "backend"} {
			if mark, there := haproxy.ProxyMark(t, kind, name); there && !claim.Owns(mark) && !claim.MayTake(mark) {
				return fmt.Errorf("the %s %q of %s is somebody else's: give this exposed service another name, or remove that", kind, name, haproxy.ConfigPath)
			}
		}
		if err := haproxy.SetProxy(t, want.portBackend(port, ports[port]), claim.Mark()); err != nil {
			return err
		}
		if err := haproxy.SetProxy(t, want.portFrontend(port, ports[port]), claim.Mark()); err != nil {
			return err
		}
	}
	return nil
}

// listLeft lists the sections of this exposure, as its claim says, that carry no port of it any more.
func listLeft(t transaction.Tree, want Exposure, claim owner.Claim) []string {
	ports := want.Balanced()
	return slices.DeleteFunc(haproxy.ProxiesWithPrefix(t, sectionsOf(want.Name)), func(section string) bool {
		_, stays := ports[strings.TrimPrefix(section, sectionsOf(want.Name))]
		front, fronts := haproxy.ProxyMark(t, "frontend", section)
		back, backs := haproxy.ProxyMark(t, "backend", section)
		return stays || fronts && !claim.Owns(front) || backs && !claim.Owns(back)
	})
}

// NeedsBalance says whether HAProxy carries something of an exposure, or shall.
func NeedsBalance(t transaction.Tree, want Exposure, claim owner.Claim) bool {
	return len(want.Balanced()) > 0 || len(listLeft(t, want, claim)) > 0
}

// BalanceMatches says whether HAProxy's configuration carries what it shall, and nothing else of this exposure.
func BalanceMatches(t transaction.Tree, want Exposure, claim owner.Claim) bool {
	if len(listLeft(t, want, claim)) > 0 {
		return false
	}
	for name, p := range want.Balanced() {
		f, err := haproxy.FindFrontend(t, Section(want.Name, name))
		if err != nil || !reflect.DeepEqual(f, want.portFrontend(name, p)) {
			return false
		}
		b, err := haproxy.FindBackend(t, Section(want.Name, name))
		if err != nil || !reflect.DeepEqual(b, want.portBackend(name, p)) {
			return false
		}
	}
	return true
}
