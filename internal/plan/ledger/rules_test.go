package ledger_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan/ledger"
)

// entry is what a resource of a story registers, and who is in its way by which summary, in order.
type entry struct {
	holder plan.Holder
	uses   []plan.Use
	want   []string
}

func (e entry) collides(want ...string) entry { e.want = want; return e }

// says is a resource that the plan makes, by its name, on a hypervisor or a machine.
func says(name, place string, uses ...plan.Use) entry {
	for i := range uses {
		uses[i].New = true
	}
	return entry{holder: plan.Holder{ID: name + " on " + place, Self: name, Name: name, Places: []string{place}, Doing: plan.Makes}, uses: uses}
}

// keeps is one that the plan keeps as it is, goes one that it removes.
func (e entry) keeps() entry { return e.does(plan.Keeps) }
func (e entry) goes() entry  { return e.does(plan.Removes) }

func (e entry) provisional() entry { e.holder.Provisional = true; return e }

func (e entry) does(doing plan.Doing) entry {
	e.holder.Doing = doing
	for i := range e.uses {
		e.uses[i].New = doing == plan.Makes
	}
	return e
}

func address(kind plan.Kind, network, text string) plan.Use {
	a := netip.MustParseAddr(text)
	u := plan.Use{Kind: kind, Value: a.String(), Span: plan.SpanOf(a)}
	if network != "" {
		u.Scope = plan.OnNetwork(network)
	}
	return u
}

func (e entry) forMachine(mac string) entry { e.uses[0].For = mac; return e }

func spanning(kind plan.Kind, network, first, last string) plan.Use {
	span := plan.Span{First: netip.MustParseAddr(first), Last: netip.MustParseAddr(last)}
	u := plan.Use{Kind: kind, Value: span.String(), Span: span}
	if network != "" {
		u.Scope, u.ByID = plan.OnNetwork(network), true
	}
	return u
}

func prefix(kind plan.Kind, text string) plan.Use {
	p := netip.MustParsePrefix(text)
	return plan.Use{Kind: kind, Value: p.String(), Span: plan.SpanOfPrefix(p)}
}

func named(kind plan.Kind, name string) plan.Use { return plan.Use{Kind: kind, Value: name} }

func TestRules(t *testing.T) {
	t.Parallel()
	const kvm, other = "the provider's hypervisor", `hypervisor "kvm2"`
	pods := says("pods", "", prefix(plan.PodSubnet, "10.128.0.0/14"))
	network := func(first, last string) entry {
		e := says("network", kvm, spanning(plan.HandedOut, "n", first, last))
		e.holder.Object = "uuid"
		return e
	}
	listing := func(uses ...plan.Use) entry {
		e := says("network", kvm, uses...)
		e.holder.Object = "uuid"
		return e
	}
	for name, story := range map[string][]entry{
		"a MAC address is there once for all hypervisors": {
			says("a", kvm, plan.Use{Kind: plan.MAC, Scope: "all networks", Value: "m"}), says("b", other, plan.Use{Kind: plan.MAC, Scope: "all networks", Value: "m"}).collides("a: Taken by another resource"),
		},
		"what a node boots is for the address that it has": {
			says("profile", "", named(plan.BootedNode, "w")).forMachine("05"),
			says("node", kvm, named(plan.NodeCard, "w")).forMachine("06").collides("profile: Another machine than its boot profile's"),
			says("other", kvm, named(plan.NodeCard, "x")).forMachine("06"),
			says("profile", "", named(plan.BootedNode, "w")).forMachine("05").collides("node: Another machine than the node"),
			says("profile", "", named(plan.BootedNode, "w")).forMachine("06"), says("node", kvm, named(plan.NodeCard, "w")).forMachine("06"),
		},
		"a group of nodes has one limit, over all hypervisors": {
			says("a", kvm, named(plan.TurnLimit, "masters")).forMachine("1"), says("w", kvm, named(plan.TurnLimit, "workers")).forMachine("2"),
			says("b", other, named(plan.TurnLimit, "masters")).forMachine("2").collides("a: Two limits of one group"),
			says("b", other, named(plan.TurnLimit, "masters")).forMachine("1"),
		},
		"subnets of one hypervisor": {
			says("a", kvm, prefix(plan.NetworkSubnet, "10.0.0.0/16")), says("b", other, prefix(plan.NetworkSubnet, "10.0.5.0/24")),
			says("c", kvm, prefix(plan.NetworkSubnet, "10.0.5.0/24")).collides("a: Overlapping subnets"),
			says("a", kvm, prefix(plan.NetworkSubnet, "10.1.0.0/16")), says("c", kvm, prefix(plan.NetworkSubnet, "10.0.5.0/24")),
		},
		"subnets of pods overlap those of any hypervisor": {
			pods, says("a", other, prefix(plan.NetworkSubnet, "10.128.5.0/24")).collides("pods: Overlapping subnets"), pods.collides("a: Overlapping subnets"),
		},
		"a virtual address in a range, whichever comes first": {
			network("10.0.0.210", "10.0.0.240"), says("v", "", address(plan.VirtualAddress, "", "10.0.0.250"), address(plan.VirtualAddress, "", "fd00::1")),
			says("v", "", address(plan.VirtualAddress, "", "10.0.0.240")).collides("network: Virtual address in a DHCP range"),
			network("10.0.0.210", "10.0.0.240").collides("v: Virtual address in a DHCP range"),
			says("v", "", address(plan.VirtualAddress, "", "10.0.0.250")), network("10.0.0.210", "10.0.0.240"),
		},
		"networks of one name on two hypervisors have ranges of their own": {
			says("n", kvm, spanning(plan.HandedOut, "n", "10.0.0.8", "10.0.0.9")), says("n", other, spanning(plan.HandedOut, "n", "10.0.1.8", "10.0.1.9")),
			says("v", "", address(plan.VirtualAddress, "", "10.0.0.9")).collides("n: Virtual address in a DHCP range"),
			says("v", "", address(plan.VirtualAddress, "", "10.0.1.9")).collides("n: Virtual address in a DHCP range"),
		},
		"a reserved address in a range of its network, by any name of that": {
			says("a", kvm, address(plan.ReservedAddress, "uuid", "10.0.0.210")), network("10.0.0.210", "10.0.0.240").collides("a: Reserved address in a DHCP range"),
			says("b", kvm, address(plan.ReservedAddress, "n", "10.0.0.209"), address(plan.ReservedAddress, "n", "10.0.0.210")).collides("network: Address in a DHCP range"),
			says("b", kvm, address(plan.ReservedAddress, "m", "10.0.0.210")), says("b", other, address(plan.ReservedAddress, "n", "10.0.0.210")),
			says("a", kvm), network("10.0.0.210", "10.0.0.240"),
		},
		"a reserved address that stays was there before the range": {
			network("10.0.0.210", "10.0.0.240"), says("a", kvm, address(plan.ReservedAddress, "n", "10.0.0.210")).keeps(), network("10.0.0.210", "10.0.0.240"),
		},
		"a range of a network that stays is a matter of the hypervisor": {
			network("10.0.0.210", "10.0.0.240").keeps(), says("a", kvm, address(plan.ReservedAddress, "n", "10.0.0.210")),
		},
		"an address that a network lists for another machine": {
			listing(address(plan.ListedAddress, "n", "10.0.0.5")).forMachine("05"),
			says("a", kvm, address(plan.GuestAddress, "n", "10.0.0.5")).forMachine("06").collides("network: Address listed by the network"),
			says("a", kvm, address(plan.GuestAddress, "n", "10.0.0.5")).forMachine("05"),
			says("a", kvm, address(plan.GuestAddress, "m", "10.0.0.5")).forMachine("06"),
			says("a", other, address(plan.GuestAddress, "n", "10.0.0.5")).forMachine("06"),
			listing(), says("a", kvm, address(plan.GuestAddress, "n", "10.0.0.5")).forMachine("06"),
		},
		"a network learns who keeps what it lists": {
			says("a", kvm, address(plan.GuestAddress, "n", "10.0.0.5")).forMachine("06"), says("b", kvm, address(plan.GuestAddress, "green", "10.0.0.5")).forMachine("07"),
			listing(address(plan.ListedAddress, "n", "10.0.0.5")).forMachine("05").collides("a: Listed address of another machine"),
			says("a", kvm), listing(address(plan.ListedAddress, "n", "10.0.0.5")).forMachine("05"),
		},
		"pools of one machine have nothing in common": {
			says("lan", "svc-1", spanning(plan.PoolRange, "", "10.0.0.1", "10.0.0.9")), says("lan", "svc-1", spanning(plan.PoolRange, "", "10.0.0.1", "10.0.0.9")),
			says("edge", "svc-1", spanning(plan.PoolRange, "", "10.0.0.10", "10.0.0.20")), says("edge", "svc-2", spanning(plan.PoolRange, "", "10.0.0.1", "10.0.0.9")),
			says("edge", "svc-1", spanning(plan.PoolRange, "", "fd00::1", "fd00::1"), spanning(plan.PoolRange, "", "10.0.0.9", "10.0.0.20")).collides("lan: Pools overlap"),
			says("edge", "svc-1", spanning(plan.PoolRange, "", "10.0.1.9", "10.0.1.20")), says("lan", "svc-1", spanning(plan.PoolRange, "", "10.0.0.0", "10.0.255.255")).collides("edge: Pools overlap"),
		},
		"a new pool gives out what a machine has": {
			says("a", kvm, address(plan.GuestAddress, "n", "10.0.0.7")), says("lan", "svc-1", spanning(plan.PoolStock, "", "10.0.0.5", "10.0.0.9")).collides("a: Pool gives out what somebody has"),
			says("b", kvm, address(plan.GuestAddress, "n", "10.0.0.8")).collides("lan: Taken by another resource"),
		},
		"of a pool that is there already it may have been drawn": {
			says("lan", "svc-1", spanning(plan.PoolStock, "", "10.0.0.5", "10.0.0.9")).keeps(), says("a", kvm, address(plan.GuestAddress, "n", "10.0.0.7")),
		},
		// Whoever names the address of a draw has what was drawn for that; another address of a pool that is made is nobody's yet.
		"a draw and what it is for are one thing": {
			says("lan", "svc-1", spanning(plan.PoolStock, "", "10.0.0.1", "10.0.0.8")), says("draw", "", address(plan.DrawnAddress, "", "10.0.0.1")),
			says("a", kvm, address(plan.GuestAddress, "n", "10.0.0.1")), says("a", kvm, address(plan.GuestAddress, "n", "10.0.0.2")).collides("lan: Taken by another resource"),
			says("a", kvm, address(plan.GuestAddress, "n", "10.0.0.1")), says("lan", "svc-1", spanning(plan.PoolStock, "", "10.0.0.1", "10.0.0.8")),
		},
		"a volume that goes is no disk": {
			says("a", kvm, named(plan.AttachedVolume, "/v"), named(plan.AttachedVolume, "/w")), says("v", kvm, named(plan.VolumePath, "/v")).goes().collides("a: Volume in use"),
			says("a", kvm, named(plan.AttachedVolume, "/w")), says("b", kvm, named(plan.AttachedVolume, "/v")).collides("v: Volume destroyed by the plan"),
			says("b", other, named(plan.AttachedVolume, "/v")),
		},
		"things of two kinds have no address of a machine in common": {
			says("v", "svc-1", named(plan.VIPOnMachine, "10.0.0.1")), says("w", "svc-1", named(plan.VIPOnMachine, "10.0.0.1")), says("b", "svc-2", named(plan.BridgeAddress, "10.0.0.1")),
			says("b", "svc-1", named(plan.BridgeAddress, "10.0.0.1")).collides("v: Address taken", "w: Address taken"),
			says("v", "svc-1"), says("w", "svc-1"), says("b", "svc-1", named(plan.BridgeAddress, "10.0.0.1")),
		},
		"a whole address and ports of it are in each other's way": {
			says("f", "a", named(plan.WholeAddress, "10.19.41.9")), says("f", "a", named(plan.WholeAddress, "10.19.41.9")),
			says("e", "a", named(plan.SharedAddress, "10.19.41.9")).collides("f: Exposed twice"), says("g", "a", named(plan.ListenerAddress, "10.19.41.9")).collides("f: Address in use"),
			says("f", "a", named(plan.WholeAddress, "10.19.41.9")).collides("e: Exposed twice", "g: Exposed twice"),
			says("h", "b", named(plan.WholeAddress, "10.19.41.9")),
			says("f", "a", named(plan.WholeAddress, "10.19.41.8")), says("e", "a", named(plan.SharedAddress, "10.19.41.9")),
		},
		"a frontend of HTTP leads to backends of HTTP only": {
			says("b", "svc", named(plan.TCPBackend, "api")), says("f", "svc", named(plan.LeadsToHTTP, "api"), named(plan.LeadsToHTTP, "web")).collides("b: Modes that do not fit"),
			says("b", "svc", named(plan.TCPBackend, "api")).collides("f: Modes that do not fit"), says("b", "svc"), says("f", "svc", named(plan.LeadsToHTTP, "api")),
			says("b", "other", named(plan.TCPBackend, "api")),
		},
		"a section and a base of HAProxy are there once": {
			says("a", "svc", named(plan.Section, `backend "api"`)), says("f", "svc", named(plan.Section, `frontend "api"`)), says("b", "other", named(plan.Section, `backend "api"`)),
			says("b", "svc", named(plan.Section, `backend "api"`)).collides("a: Name taken"),
			says("c", "svc", named(plan.BaseOf, "")), says("d", "svc", named(plan.BaseOf, "")).collides("c: Two base configurations"),
		},
		"what is not planned to its end is in nobody's way": {
			says("a", "x", named(plan.Device, "eth0")).provisional(), says("b", "x", named(plan.Device, "eth0")), says("a", "x", named(plan.Device, "eth0")).provisional(),
			says("a", "x", named(plan.Device, "eth0")).collides("b: Interface described twice"),
		},
		"what lasts goes and is made under one name": {
			says("old", "", named(plan.LastingName, "n")).goes(), says("new", "", named(plan.LastingName, "n")).collides("old: Destroyed and made under one name"),
			says("newer", "", named(plan.LastingName, "m")), says("older", "", named(plan.LastingName, "m")).goes().collides("newer: Destroyed and made under one name"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l ledger.Ledger
			for i, e := range story {
				var got []string
				for _, c := range l.Register(e.holder, e.uses) {
					got = append(got, c.They.Name+": "+c.Rule.Summary)
					if detail := c.Detail(); strings.Contains(detail, "{their") || strings.Contains(detail, "{mine") || strings.Contains(detail, "{holder") {
						t.Errorf("the form shows: %s", detail)
					}
				}
				if !slices.Equal(got, e.want) {
					t.Errorf("step %d, %s: %q instead of %q", i+1, e.holder.Name, got, e.want)
				}
			}
		})
	}
}

func TestANetworkThatIsSucceededIsOneOfItsHypervisor(t *testing.T) {
	t.Parallel()
	var l ledger.Ledger
	succession := func(uri, uuid string) plan.Use {
		return plan.Use{Kind: plan.SucceededNetwork, On: uri, Value: uuid}
	}
	if _, goes := l.Find(succession("qemu:///system", "1")); goes {
		t.Error("a network goes before a plan says so")
	}
	l.Note(succession("qemu:///system", "1"))
	for place, want := range map[[2]string]bool{{"qemu:///system", "1"}: true, {"qemu:///system", "2"}: false, {"qemu+ssh://other/system", "1"}: false} {
		t.Run(place[0]+" "+place[1], func(t *testing.T) {
			if _, goes := l.Find(succession(place[0], place[1])); goes != want {
				t.Errorf("it goes: %t", goes)
			}
		})
	}
}
