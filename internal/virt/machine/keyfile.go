package machine

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/cloudinit"
)

// keyfileDirectory is where NetworkManager looks for its connections (nm-settings-keyfile(5)).
const keyfileDirectory = "/etc/NetworkManager/system-connections/"

// keyfile is a file that tells NetworkManager about an interface.
type keyfile struct{ path, content string }

// buildKeyfiles returns one connection for each interface: where NetworkManager has any, it makes up none for the others.
func buildKeyfiles(interfaces []InterfaceSpec) []keyfile {
	var all []keyfile
	for _, i := range buildGuestInterfaces(interfaces) {
		all = append(all, keyfile{keyfileDirectory + i.Name + ".nmconnection", renderConnection(&i)})
	}
	return all
}

// renderConnection returns the text of an interface's connection (nm-settings-keyfile(5)). The connection names the interface by
// its MAC address, as Ignition does not say what the guest calls it.
func renderConnection(i *cloudinit.Interface) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[connection]\nid=%s\ntype=ethernet\nautoconnect-priority=1\n\n[ethernet]\nmac-address=%s\n", i.Name, strings.ToUpper(i.MAC))
	if i.MTU != 0 {
		fmt.Fprintf(&b, "mtu=%d\n", i.MTU)
	}
	method := func(asks bool, addresses int, silent string) string {
		switch {
		case asks:
			return "auto"
		case addresses > 0:
			return "manual"
		}
		return silent
	}
	is4 := func(a netip.Addr) bool { return a.Is4() }
	is6 := func(a netip.Addr) bool { return !a.Is4() }
	writeFamily(&b, i, "ipv4", is4, func(addresses int) string { return method(i.DHCP4, addresses, "disabled") })
	// Router advertisements configure an interface that nobody gave an address of IPv6.
	writeFamily(&b, i, "ipv6", is6, func(addresses int) string { return method(i.DHCP6, addresses, "auto") })
	return b.String()
}

// writeFamily writes what is said of one family of addresses.
func writeFamily(b *strings.Builder, i *cloudinit.Interface, name string, family func(netip.Addr) bool, method func(addresses int) string) {
	addresses := slices.DeleteFunc(slices.Clone(i.Addresses), func(p netip.Prefix) bool { return !family(p.Addr()) })
	fmt.Fprintf(b, "\n[%s]\nmethod=%s\n", name, method(len(addresses)))
	for n, p := range addresses {
		fmt.Fprintf(b, "address%d=%s\n", n+1, p)
	}
	if i.Gateway.IsValid() && family(i.Gateway) {
		fmt.Fprintf(b, "gateway=%s\n", i.Gateway)
	}
	n := 0
	for _, r := range i.Routes {
		if family(r.To.Addr()) {
			n++
			fmt.Fprintf(b, "route%d=%s,%s\n", n, r.To.Masked(), r.Via)
		}
	}
	var servers []string
	for _, a := range i.Nameservers {
		if family(a) {
			servers = append(servers, a.String()+";")
		}
	}
	if len(servers) > 0 {
		fmt.Fprintf(b, "dns=%s\n", strings.Join(servers, ""))
	}
}

// toIgnitionFile returns the file in Ignition's words, which are the same in all of its versions 3.
func (k *keyfile) toIgnitionFile() map[string]any {
	return map[string]any{
		"path": k.path, "mode": float64(0o600), "overwrite": true,
		"contents": map[string]any{"source": "data:," + url.PathEscape(k.content)},
	}
}

// addKeyfiles adds files to an Ignition configuration, of whichever version that is. A file, directory or link that the
// configuration has there wins.
func addKeyfiles(text string, add []keyfile) (string, error) {
	var c map[string]any
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return "", fmt.Errorf("understand the Ignition configuration: %w", err)
	}
	storage, _ := c["storage"].(map[string]any)
	if storage == nil {
		storage = map[string]any{}
	}
	taken := map[string]bool{}
	for _, kind := range []string{"files", "directories", "links"} {
		entries, _ := storage[kind].([]any)
		for _, entry := range entries {
			taken[readEntryPath(entry)] = true
		}
	}
	files, _ := storage["files"].([]any)
	for _, k := range add {
		if !taken[k.path] {
			files = append(files, k.toIgnitionFile())
		}
	}
	storage["files"], c["storage"] = files, storage
	return compactJSON(c)
}

// removeKeyfiles takes out of an Ignition configuration the files that addKeyfiles added, where they are as it made them. A text
// that is no JSON stays as it is.
func removeKeyfiles(text string, added []keyfile) string {
	var c map[string]any
	if json.Unmarshal([]byte(text), &c) != nil {
		return text
	}
	storage, _ := c["storage"].(map[string]any)
	files, _ := storage["files"].([]any)
	kept := slices.DeleteFunc(slices.Clone(files), func(file any) bool {
		return slices.ContainsFunc(added, func(k keyfile) bool {
			own, err := compactJSON(k.toIgnitionFile())
			got, err2 := compactJSON(file)
			return err == nil && err2 == nil && own == got
		})
	})
	if len(kept) == len(files) {
		return text
	}
	if storage["files"] = kept; len(kept) == 0 {
		delete(storage, "files")
	}
	if len(storage) == 0 {
		delete(c, "storage")
	}
	rest, err := compactJSON(c)
	if err != nil {
		return text
	}
	return rest
}

func readEntryPath(entry any) string {
	fields, _ := entry.(map[string]any)
	path, _ := fields["path"].(string)
	return path
}

// compactJSON spells JSON with sorted keys and no spaces.
func compactJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}
