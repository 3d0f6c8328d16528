package exposure

import (
	"fmt"
	"maps"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Uses implements plan.User: the ports that it exposes or all of an address, and the address where it is to put that on a device. A port
// of every address is that of the targets' family.
func (e Exposure) Uses() []plan.Use {
	if e.Kind == "" || e.Kind != NodePort && !e.Address.IsValid() || e.Kind == NodePort && len(e.Targets) == 0 {
		return nil
	}
	var uses []plan.Use
	at := func(port string) []any { return []any{"ports", service.Key(port), "port"} }
	for _, name := range slices.Sorted(maps.Keys(e.Ports)) {
		if p := e.Ports[name]; p.Port != 0 && e.Kind != Floating {
			uses = append(uses, plan.Use{Kind: plan.ExposedPort, Value: Endpoint(e, p), Path: at(name)})
		}
	}
	// As frontends of HAProxy's do, which would share the connections out at random, or get none.
	listens := e.Listens()
	for _, name := range slices.Sorted(maps.Keys(listens)) {
		path := at(name)
		if name == "" {
			path = []any{"address"}
		}
		uses = append(uses, plan.Use{Kind: plan.ExposureListener, Value: listens[name].Endpoint(), Path: path})
	}
	if e.Kind != NodePort {
		kind := plan.SharedAddress
		if e.Kind == Floating {
			kind = plan.WholeAddress
		}
		uses = append(uses, plan.Use{Kind: kind, Value: e.Address.String(), Path: []any{"address"}})
	}
	if e.ConfigureAddress && e.Address.IsValid() {
		uses = append(uses, plan.Use{Kind: plan.ExposureAddress, Value: e.Address.String(), Path: []any{"configure_address"}})
	}
	return uses
}

// Describe implements plan.Described.
func (e Exposure) Describe(string) string {
	if e.Kind == Floating && len(e.Targets) > 0 {
		return fmt.Sprintf("floating address for %s", e.Targets[0])
	}
	return fmt.Sprintf("exposed service %q", e.Name)
}
