package addressuse

import (
	"encoding/json"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// recordGlobs are this provider's own records: what it exposes, what it drew, and how it configured devices.
var recordGlobs = []string{
	exposures + "/*.json", pools + "/*.json",
	hostnet.RecordPath("bridge", "*", hostnet.Auto), hostnet.RecordPath("bridge", "*", hostnet.Runtime),
	hostnet.RecordPath("interface", "*", hostnet.Auto), hostnet.RecordPath("interface", "*", hostnet.Runtime),
}

const (
	exposures = "/var/lib/virtcluster/exposure/entries"
	pools     = "/var/lib/virtcluster/addresspool/pools"
)

// parseRecord returns who has which addresses by a record of this provider's; nothing of another file, nor of a damaged one, which who reads
// it for itself refuses.
func parseRecord(file string, text []byte) map[netip.Addr][]Holder {
	name := strings.TrimSuffix(path.Base(file), ".json")
	device := func(kind string) string { return strings.TrimPrefix(name, kind+"-") }
	switch {
	case path.Dir(file) == exposures:
		return ofExposure(name, file, text)
	case path.Dir(file) == pools:
		return ofPool(file, text)
	case strings.HasPrefix(name, "bridge-") && slices.Contains(recordsOf("bridge", device("bridge")), file):
		return ofDevice(Bridge, device("bridge"), file, text)
	case strings.HasPrefix(name, "interface-") && slices.Contains(recordsOf("interface", device("interface")), file):
		return ofDevice(Interface, device("interface"), file, text)
	}
	return nil
}

func recordsOf(kind, device string) []string {
	return []string{hostnet.RecordPath(kind, device, hostnet.Auto), hostnet.RecordPath(kind, device, hostnet.Runtime)}
}

// ofExposure reads an exposure. One that puts its address on no device is a guest of whoever has that: a VIP, the machine itself.
func ofExposure(name, file string, text []byte) map[netip.Addr][]Holder {
	var e struct {
		Owner     string     `json:"owner"`
		Address   netip.Addr `json:"address"`
		Interface string     `json:"interface"`
		Configure bool       `json:"configure_address"`
	}
	if json.Unmarshal(text, &e) != nil || !e.Configure {
		return nil
	}
	return map[netip.Addr][]Holder{e.Address: {{Kind: Exposure, Name: name, Place: file, Devices: []string{e.Interface}, Mark: owner.Parse(e.Owner)}}}
}

func ofPool(file string, text []byte) map[netip.Addr][]Holder {
	var pool struct {
		Drawn map[string]struct {
			IP    netip.Addr `json:"ip"`
			Owner string     `json:"owner"`
		} `json:"drawn"`
	}
	if json.Unmarshal(text, &pool) != nil {
		return nil
	}
	all := map[netip.Addr][]Holder{}
	for key, d := range pool.Drawn {
		all[d.IP] = append(all[d.IP], Holder{Kind: Draw, Name: key, Place: file, Mark: owner.Parse(d.Owner)})
	}
	return all
}

// ofDevice reads the record of a bridge or of an interface: what it was given, and what the devices had before that it is made of.
func ofDevice(kind Kind, device, file string, text []byte) map[netip.Addr][]Holder {
	r, err := hostnet.ParseRecord[struct {
		Addresses []netip.Prefix
		Inherit   bool
	}](text)
	if err != nil {
		return nil
	}
	all := map[netip.Addr][]Holder{}
	add := func(a netip.Addr, kind Kind, name string) {
		h := Holder{Kind: kind, Name: name, Place: file, Devices: []string{name}, Mark: r.Mark}
		if !slices.ContainsFunc(all[a], func(o Holder) bool { return o.Kind == h.Kind && o.Name == h.Name }) {
			all[a] = append(all[a], h)
		}
	}
	for _, p := range r.Want.Addresses {
		add(p.Addr(), kind, device)
	}
	for _, b := range r.Before {
		for _, s := range b.Settings {
			if s.IsAddress() && r.Want.Inherit {
				add(s.Address.Addr(), kind, device)
			} else if s.IsAddress() {
				add(s.Address.Addr(), Before, b.Name)
			}
		}
	}
	return all
}
