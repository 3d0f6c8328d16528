package ovn

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// listNAT returns what the router translates.
func (t routerThing) listNAT(r routerRows, want Router) map[string]child {
	all := map[string]child{}
	add := func(kind, external, logical string) {
		all[natKey(kind, external, logical)] = child{columns: map[string]any{"type": kind, "external_ip": external, "logical_ip": logical, externalIDs: t.childIDs()}}
	}
	if want.External == nil {
		return all
	}
	for _, s := range r.listTranslated(want.Networks) {
		if want.SNAT {
			add("snat", want.External.Address.Addr().String(), gatewayOf(&s).Masked().String())
		}
	}
	guests := listGuests(r.guests, r.networks, want.Networks)
	for outside, f := range want.Floating {
		add("dnat_and_snat", outside, f.Inside.String())
		columns := all[natKey("dnat_and_snat", outside, f.Inside.String())].columns
		columns["external_mac"], columns["logical_port"] = texts(), texts()
		if f.Distributed {
			columns["external_mac"], columns["logical_port"] = texts(t.floatingMAC(r, outside)), texts(portWith(guests, f.Inside))
		}
	}
	return all
}

// natKey tells apart what a router translates.
func natKey(kind, external, logical string) string { return kind + " " + external + " " + logical }

// floatingMAC is what answers outside for a floating address on its guest's chassis.
func (t routerThing) floatingMAC(r routerRows, outside string) string {
	is := ""
	for _, x := range r.nat {
		if x.External == outside && x.MAC != nil {
			is = *x.MAC
		}
	}
	return r.chooseMAC(t.name+" "+outside, is)
}

// splitPersonsNAT tells what this provider would have a person's router translate, which has no marks, from what else it does: its own are those of what the
// router is and of what is wanted of it.
func (t routerThing) splitPersonsNAT(r routerRows, want Router) (own, foreign []NAT) {
	is := t.readRouter(r)
	var addresses, cidrs []string
	for _, e := range []*External{is.External, want.External} {
		if e != nil {
			addresses = append(addresses, e.Address.Addr().String())
		}
	}
	for name, s := range r.networks {
		_, leads := r.peers[name]
		_, has := r.ports[t.portTo(name)]
		if cidr, err := netip.ParsePrefix(s.OtherConfig["subnet"]); err == nil && isTranslated(&s) && (leads || has || slices.Contains(want.Networks, name)) {
			cidrs = append(cidrs, cidr.Masked().String())
		}
	}
	return splitRows(r.nat, func(x NAT) bool {
		switch x.Type {
		case "snat":
			return (is.SNAT || want.SNAT) && slices.Contains(addresses, x.External) && slices.Contains(cidrs, x.Logical)
		case "dnat_and_snat":
			_, reads := is.Floating[x.External]
			_, wanted := want.Floating[x.External]
			return reads || wanted
		}
		return false
	})
}

// splitNAT tells what the router translates by this provider from what a person has it translate beside.
func (t routerThing) splitNAT(r routerRows, want Router) (own, foreign []NAT) {
	if r.router == nil || !r.isPersons() {
		return r.nat, r.foreignNAT
	}
	return t.splitPersonsNAT(r, want)
}

// checkForeign finds what a person has the router translate, or lead to, that is wanted of it: a row is one owner's.
func (t routerThing) checkForeign(r routerRows, want Router) error {
	_, foreign := t.splitNAT(r, want)
	nat, routes := t.listNAT(r, want), t.listRoutes(want)
	for _, x := range foreign {
		path := []any{"snat"}
		_, wanted := nat[natKey(x.Type, x.External, x.Logical)]
		if _, floats := want.Floating[x.External]; floats && x.Type != "snat" {
			path, wanted = []any{"floating", service.Key(x.External)}, true
		}
		if wanted {
			return service.At(path, fmt.Errorf("somebody has router %q translate so already, %s: take that off it first by `ovn-nbctl lr-nat-del`", t.name, natKey(x.Type, x.External, x.Logical)))
		}
	}
	for _, x := range r.foreignRoutes {
		if _, wanted := routes[routeKey(x.Prefix, x.Via)]; wanted {
			return service.At([]any{"routes"}, fmt.Errorf("somebody has router %q lead to %s by %s already: take that off it first by `ovn-nbctl lr-route-del`", t.name, x.Prefix, x.Via))
		}
	}
	return nil
}

// readNAT reads what the router translates, without what a person has it translate beside. A floating address that is translated by half, or by another port than
// its guest's, is none, and snat is that of all networks that are translated: an apply mends either. Where none is, it is what was written.
func (r *Router) readNAT(rows routerRows) {
	snat := map[string]bool{}
	guests := listGuests(rows.guests, rows.networks, r.Networks)
	for _, x := range rows.nat {
		switch x.Type {
		case "snat":
			if r.External != nil && x.External == r.External.Address.Addr().String() {
				snat[x.Logical] = true
			}
		case "dnat_and_snat":
			inside, _ := netip.ParseAddr(x.Logical)
			f := Floating{Inside: inside, Distributed: x.Port != nil && x.MAC != nil}
			if !f.Distributed && x.Port == nil && x.MAC == nil || f.Distributed && *x.Port == portWith(guests, inside) {
				r.Floating[x.External] = f
			}
		}
	}
	translated := rows.listTranslated(r.Networks)
	r.SNAT = len(translated) > 0 || rows.router.ExternalIDs[snatKey] != ""
	for _, s := range translated {
		r.SNAT = r.SNAT && snat[gatewayOf(&s).Masked().String()]
	}
}

// listTranslated returns those of networks whose guests a router translates, where it translates: they have a gateway of IPv4.
func (r routerRows) listTranslated(networks []string) (all []Switch) {
	for _, name := range networks {
		if s, there := r.networks[name]; there && isTranslated(&s) && gatewayOf(&s).IsValid() {
			all = append(all, s)
		}
	}
	return all
}

// checkGuests finds distributed floating addresses of guests that have no port yet.
func (r routerRows) checkGuests(want Router) error {
	guests := listGuests(r.guests, r.networks, want.Networks)
	for _, outside := range slices.Sorted(maps.Keys(want.Floating)) {
		if f := want.Floating[outside]; f.Distributed && portWith(guests, f.Inside) == "" {
			return service.At([]any{"floating", service.Key(outside), "distributed"}, fmt.Errorf("no port on a network of the router has %s, so no chassis is the guest's: make it first, with its address", f.Inside))
		}
	}
	return nil
}

// checkFloating finds distributed floating addresses of guests that a load balancer leads to from outside: what they answer would leave
// their own chassis, and not the way out, which knows the connection.
func (r routerRows) checkFloating(want Router) error {
	for _, outside := range slices.Sorted(maps.Keys(want.Floating)) {
		f := want.Floating[outside]
		if !f.Distributed {
			continue
		}
		for _, b := range r.balancers {
			for vip, backends := range b.VIPs {
				where, err := netip.ParseAddrPort(vip)
				if err == nil && !r.isInside(want.Networks, where.Addr()) && leadsTo(backends, f.Inside) {
					return service.At([]any{"floating", service.Key(outside), "distributed"}, fmt.Errorf("load balancer %q leads from %s to %s, which would not answer: write distributed = false", b.Name, vip, f.Inside))
				}
			}
		}
	}
	return nil
}

// isInside says whether an address is in one of the networks that the router is to connect, which somebody may have taken off it.
func (r routerRows) isInside(networks []string, a netip.Addr) bool {
	for _, name := range networks {
		s := r.networks[name]
		if p := gatewayOf(&s); p.IsValid() && p.Masked().Contains(a) {
			return true
		}
	}
	return false
}

// leadsTo says whether an address is among those that a load balancer leads to, as its row has them.
func leadsTo(backends string, a netip.Addr) bool {
	return slices.ContainsFunc(splitBackends(backends), func(backend string) bool {
		target, err := netip.ParseAddrPort(backend)
		return err == nil && target.Addr() == a
	})
}

// listGuests returns the ports of guests that are on networks of these names, in the order of their own: another network may have the same addresses.
func listGuests(guests []Port, networks map[string]Switch, names []string) (all []Port) {
	on := map[string]bool{}
	for _, name := range names {
		for _, uuid := range networks[name].Ports {
			on[uuid] = true
		}
	}
	for _, p := range guests {
		if on[p.UUID] {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Port) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// portWith is the name of the port that has an address, "" where none has.
func portWith(ports []Port, a netip.Addr) string {
	for _, p := range ports {
		for _, addresses := range p.Addresses {
			if slices.Contains(strings.Fields(addresses), a.String()) {
				return p.Name
			}
		}
	}
	return ""
}

// chooseMAC returns the hardware address of what a router has, by a text and what it is now: routers of several OVNs may be on one network, and have one name.
// One that was made without regard to that keeps it: neighbours would send elsewhere until they forget it.
func (r routerRows) chooseMAC(of, is string) string {
	if kept := hardwareAddress(of); is == kept {
		return kept
	}
	return hardwareAddress(r.global.UUID + " " + of)
}

// hardwareAddress is one that nobody else has, always the same for the same text.
func hardwareAddress(of string) string {
	sum := sha256.Sum256([]byte(of))
	return fmt.Sprintf("0a:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4])
}
