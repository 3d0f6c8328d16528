package bridge

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// deleted is a bridge of eno1 that nothing keeps, after somebody deleted it: eno1 has nothing any more.
func deleted(t *testing.T) (before hostnet.Machine, f found) {
	t.Helper()
	before = machine(t)
	b := Bridge{Name: "kiextbr0", Interfaces: []string{"eno1"}, Inherit: true}
	r, err := b.beginRecord(before, Record{})
	if err != nil {
		t.Fatal(err)
	}
	r.Mark, r.Want.ActiveBackend = owner.Mark{ID: "me", Workspace: "here"}, hostnet.Runtime
	now := machine(t)
	for i, l := range now.Links {
		if l.Name == "eno1" {
			now.Links[i].Addresses = nil
		}
	}
	now.Routes = slices.DeleteFunc(now.Routes, func(r hostnet.Route) bool { return r.Dev == "eno1" })
	return before, found{Machine: now, Record: r, known: true, name: b.Name, mark: r.Mark, there: true}
}

func TestADeletedBridgeIsDriftAndComesBackWithWhatItHad(t *testing.T) {
	before, f := deleted(t)
	got, err := kind{f.name}.Read(f)
	if err != nil || len(got.Interfaces) != 0 || !got.Inherit {
		t.Errorf("read as %+v, %v", got, err)
	}
	if h := f.Holder(); !h.There || h.Mark != f.mark || !strings.Contains(h.What, "although it is gone") {
		t.Errorf("its holder is %+v", h)
	}
	again, err := f.Want.beginRecord(f.Machine, f.Record)
	if err != nil {
		t.Fatal(err)
	}
	again.Want.ActiveBackend = hostnet.Runtime
	if diff := cmp.Diff(f.Record.ownSettings(), again.ownSettings(), cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" || len(again.ownSettings()) != 4 {
		t.Errorf("it comes back with %s", diff)
	}
	if words := f.warnOfReturn(f.Want); len(words) != 1 || !strings.Contains(words[0].Detail, "10.19.41.10/24") || !strings.Contains(words[0].Detail, "default via 10.19.41.254") {
		t.Errorf("the plan says %v", words)
	}
	do, undo := follow(t, f.Machine, &f.Record, nil)
	want := hostnet.Batch{}
	want.Give("eno1", before.Own("eno1"))
	if diff := cmp.Diff(want, do); diff != "" {
		t.Errorf("the destroy gives back: %s", diff)
	}
	if text := strings.Join(undo, "\n"); !strings.Contains(text, "addr del 10.19.41.10/24") || strings.Contains(text, "kiextbr0") {
		t.Errorf("which is undone by\n%s", text)
	}
}

// What somebody gave to the interface since then is what counts.
func TestADeletedBridgeLeavesWhatSomebodyGaveSince(t *testing.T) {
	_, f := deleted(t)
	for i, l := range f.Links {
		if l.Name == "eno1" {
			f.Links[i].Addresses = append(f.Links[i].Addresses, machine(t).Links[slices.IndexFunc(machine(t).Links, func(l hostnet.Link) bool { return l.Name == "eno1" })].Addresses[0])
			f.Links[i].Addresses[0].Local = netip.MustParseAddr("10.19.41.66")
			f.Links[i].Addresses[0].Broadcast = ""
		}
	}
	again, err := f.Want.beginRecord(f.Machine, f.Record)
	if err != nil {
		t.Fatal(err)
	}
	again.Want.ActiveBackend = hostnet.Runtime
	if diff := cmp.Diff([]hostnet.Setting{hostnet.AddressSetting(netip.MustParsePrefix("10.19.41.66/24"))}, again.ownSettings(), cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
		t.Error(diff)
	}
	if do, _ := follow(t, f.Machine, &f.Record, nil); len(do) != 0 {
		t.Errorf("the destroy does %q", do)
	}
}

// What the bridge had may be somebody else's by now.
func TestADeletedBridgeTakesNothingThatIsElsewhereNow(t *testing.T) {
	_, f := deleted(t)
	taken := machine(t).Links[slices.IndexFunc(machine(t).Links, func(l hostnet.Link) bool { return l.Name == "eno1" })]
	taken.Name = "eno5"
	f.Links = append(f.Links, taken)
	if err := f.checkReturn(t.Context(), nil, f.Record); err == nil || !strings.Contains(err.Error(), "eno5 has it now") {
		t.Errorf("got %v", err)
	}
}

// A bond outlives its bridge, and is put into it again.
func TestABondOfADeletedBridgeIsTakenAgain(t *testing.T) {
	b := Bridge{Name: "brbond", Bonds: []Bond{{Name: "bond0", Mode: "active-backup", Interfaces: []string{"eno1"}}}, Inherit: true}
	r, err := b.beginRecord(machine(t), Record{})
	if err != nil {
		t.Fatal(err)
	}
	r.Want.ActiveBackend = hostnet.Runtime
	_, f := deleted(t)
	f.Links = append(f.Links, hostnet.Link{Name: "bond0"})
	for i, l := range f.Links {
		if l.Name == "eno1" {
			f.Links[i].Master = "bond0"
		}
	}
	again, err := b.beginRecord(f.Machine, r)
	if err != nil {
		t.Fatal(err)
	}
	again.Want.ActiveBackend = hostnet.Runtime
	do, undo := follow(t, f.Machine, &r, &again)
	text := strings.Join(do, "\n")
	if strings.Contains(text, "link add name bond0") || strings.Contains(text, "master bond0") || !strings.Contains(text, "link set dev bond0 master brbond\nlink set dev bond0 up") || !strings.Contains(text, "addr replace 10.19.41.10/24") {
		t.Errorf("it does\n%s", text)
	}
	if text := strings.Join(undo, "\n"); strings.Contains(text, "link del dev bond0") {
		t.Errorf("which is undone by\n%s", text)
	}
	back, _ := follow(t, f.Machine, &r, nil)
	if text := strings.Join(back, "\n"); !strings.HasPrefix(text, "link del dev bond0\nlink set dev eno1 nomaster\nlink set dev eno1 up\n") || !strings.Contains(text, "addr replace 10.19.41.10/24") {
		t.Errorf("the destroy does\n%s", text)
	}
}

func TestABridgeThatOthersUseIsKept(t *testing.T) {
	port := func(name, kind string) hostnet.Link {
		l := hostnet.Link{Name: name, Master: "kiextbr0"}
		l.LinkInfo.Kind = kind
		return l
	}
	on := func(name, lower string) hostnet.Link { return hostnet.Link{Name: name, Lower: lower} }
	for name, c := range map[string]struct {
		links []hostnet.Link
		want  string
	}{
		"its own ports":        {nil, ""},
		"a virtual machine":    {[]hostnet.Link{port("vnet3", "tun")}, "virtual machines behind vnet3"},
		"containers":           {[]hostnet.Link{port("veth1", "veth"), port("veth2", "veth")}, "veth1, veth2"},
		"a person's vxlan":     {[]hostnet.Link{port("vxlan7", "vxlan")}, "vxlan7"},
		"a VLAN on top of it":  {[]hostnet.Link{on("kiextbr0.7", "kiextbr0")}, "made on it: kiextbr0.7"},
		"a VLAN of an own one": {[]hostnet.Link{on("eno1.7", "eno1")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, f := deleted(t)
			bridge := hostnet.Link{Name: "kiextbr0"}
			bridge.LinkInfo.Kind = "bridge"
			f.Links = append(append(f.Links, bridge), c.links...)
			for i, l := range f.Links {
				if l.Name == "eno1" {
					f.Links[i].Master = "kiextbr0"
				}
			}
			_, err := kind{f.name}.Drop(t.Context(), nil, f)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Each interface gets back the neighbours that it had, and the first one what was written down for the bridge meanwhile.
func TestNeighboursGoWithTheAddresses(t *testing.T) {
	_, f := deleted(t)
	neighbour := func(address, device string) hostnet.Neighbour {
		return hostnet.Neighbour{Address: netip.MustParseAddr(address), Device: device, MAC: "02:00:00:00:00:07"}
	}
	f.Record.Before[0].Neighbours = []hostnet.Neighbour{neighbour("10.19.41.7", "eno1")}
	f.Record.Before = append(f.Record.Before, hostnet.DeviceSnapshot{Name: "eno8", Neighbours: []hostnet.Neighbour{neighbour("10.19.41.8", "eno8")}})
	f.Record.Want.Interfaces = append(f.Record.Want.Interfaces, "eno8")
	c, err := f.Follow(t.Context(), nil, f.toDesired(), f.toDesired())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ip neigh replace 10.19.41.7 lladdr 02:00:00:00:00:07 nud permanent dev kiextbr0", "replace 10.19.41.8 lladdr 02:00:00:00:00:07 nud permanent dev kiextbr0"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(c.Do, want) {
				t.Errorf("a bridge that comes back has not %s:\n%s", want, c.Do)
			}
		})
	}
	f.Links = append(f.Links, hostnet.Link{Name: "kiextbr0"})
	f.Neighbours = []hostnet.Neighbour{neighbour("10.19.41.7", "kiextbr0"), neighbour("10.19.41.8", "kiextbr0"), neighbour("10.19.41.9", "kiextbr0"), neighbour("10.9.9.9", "other")}
	if c, err = f.Follow(t.Context(), nil, f.toDesired(), hostnet.Desired{}); err != nil {
		t.Fatal(err)
	}
	if want := "ip neigh replace 10.19.41.7 lladdr 02:00:00:00:00:07 nud permanent dev eno1 || :\nip neigh replace 10.19.41.9 lladdr 02:00:00:00:00:07 nud permanent dev eno1 || :\n" +
		"ip neigh replace 10.19.41.8 lladdr 02:00:00:00:00:07 nud permanent dev eno8 || :\n"; !strings.HasSuffix(c.Do, "END\n"+want) {
		t.Errorf("given back:\n%s", c.Do)
	}
}
