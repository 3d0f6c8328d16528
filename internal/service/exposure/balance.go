package exposure

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Section is the name of the frontend and of the backend that carry a port.
func Section(name, port string) string { return "exposed-" + name + "-" + port }

// frontend and backend carry one port of a load balancer. A connection may be idle for an hour.
func (e Exposure) frontend(name string, p Port) haproxy.Frontend {
	return haproxy.Frontend{
		Name: Section(e.Name, name), Mode: "tcp", Timeouts: map[string]string{"client": "1m"}, DefaultBackend: Section(e.Name, name),
		Binds: []haproxy.Bind{e.bind(p)},
	}
}

func (e Exposure) bind(p Port) haproxy.Bind {
	return haproxy.Bind{Address: e.Address.String(), Port: int64(p.Port), Transparent: true}
}

// Binds are where HAProxy listens, by port.
func (e Exposure) Binds() map[string]haproxy.Bind {
	binds := map[string]haproxy.Bind{}
	for name, p := range e.Balanced() {
		if p.Port != 0 && e.Address.IsValid() {
			binds[name] = e.bind(p)
		}
	}
	return binds
}

func (e Exposure) backend(name string, p Port) haproxy.Backend {
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

// SetBalance has HAProxy's configuration carry what the rules do not, and no longer what was carried before.
func SetBalance(t transaction.Tree, was, want Exposure, claim owner.Claim) error {
	for port := range was.Balanced() {
		if _, stays := want.Balanced()[port]; stays {
			continue
		}
		if mark, there := haproxy.ProxyMark(t, "frontend", Section(was.Name, port)); !there || !claim.Owns(mark) {
			continue
		}
		if err := haproxy.DropFrontend(t, Section(was.Name, port)); err != nil {
			return err
		}
		if err := haproxy.DropBackend(t, Section(was.Name, port)); err != nil {
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
		if err := haproxy.SetBackend(t, want.backend(port, ports[port]), claim.Mark()); err != nil {
			return err
		}
		if err := haproxy.SetFrontend(t, want.frontend(port, ports[port]), claim.Mark()); err != nil {
			return err
		}
	}
	return nil
}

// BalanceMatches says whether HAProxy's configuration carries what it shall.
func BalanceMatches(t transaction.Tree, want Exposure) bool {
	for name, p := range want.Balanced() {
		f, err := haproxy.FindFrontend(t, Section(want.Name, name))
		if err != nil || !reflect.DeepEqual(f, want.frontend(name, p)) {
			return false
		}
		b, err := haproxy.FindBackend(t, Section(want.Name, name))
		if err != nil || !reflect.DeepEqual(b, want.backend(name, p)) {
			return false
		}
	}
	return true
}
