package functions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostsfile"
)

// NewHostsFile makes hosts_file.
func NewHostsFile() function.Function {
	return named{"hosts_file", function.Definition{
		Summary: "The text of an /etc/hosts file",
		MarkdownDescription: "The text of an `/etc/hosts` file, ordered by address. The map may go from addresses to names or from names to addresses, each to one or to a list; " +
			"a list keeps its order, so that the first name stays the canonical one. Lines for `localhost` come first, unless the map has the loopback addresses itself.",
		Parameters: []function.Parameter{
			function.DynamicParameter{Name: "hosts", MarkdownDescription: "`{ \"10.0.0.1\" = [\"okd-master-01.okd.example\", \"okd-master-01\"] }` or `{ okd-master-01 = \"10.0.0.1\" }`."},
		},
		Return: function.StringReturn{},
	}, renderHostsFile}
}

func renderHostsFile(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
	var hosts types.Dynamic
	if err := arguments.Get(ctx, &hosts); err != nil {
		return nil, err
	}
	if !isWhollyKnown(ctx, hosts) {
		return types.StringUnknown(), nil
	}
	entries, err := hostEntries(hosts.UnderlyingValue())
	if err != nil {
		return nil, refuseArgument(0, err)
	}
	return renderHosts(entries), nil
}

// isWhollyKnown says that nothing in a value is unknown.
func isWhollyKnown(ctx context.Context, v attr.Value) bool {
	tv, err := v.ToTerraformValue(ctx)
	return err == nil && tv.IsFullyKnown()
}

// hostEntries reads the map in either direction.
func hostEntries(v attr.Value) (map[netip.Addr][]string, error) {
	elements, ok := elementsOf(v)
	if !ok {
		return nil, errors.New("it is no map: write { ADDRESS = [NAME, …] } or { NAME = ADDRESS }")
	}
	entries := map[netip.Addr][]string{}
	for _, key := range slices.Sorted(maps.Keys(elements)) {
		values, err := readTexts(elements[key])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", key, err)
		}
		for _, value := range values {
			address, name := key, value
			if _, err := netip.ParseAddr(key); err != nil {
				address, name = value, key
			}
			addr, err := service.ParseAddress(address)
			if err != nil {
				return nil, fmt.Errorf("neither %q nor %q is an address", key, value)
			}
			if !hostsfile.HostName.MatchString(name) {
				return nil, fmt.Errorf("%q is no host name", name)
			}
			if !slices.Contains(entries[addr], name) {
				entries[addr] = append(entries[addr], name)
			}
		}
	}
	return entries, nil
}

func elementsOf(v attr.Value) (map[string]attr.Value, bool) {
	switch v := v.(type) {
	case types.Map:
		return v.Elements(), !v.IsNull()
	case types.Object:
		return v.Attributes(), !v.IsNull()
	}
	return nil, false
}

// readTexts reads a string, or a list, tuple or set of strings.
func readTexts(v attr.Value) ([]string, error) {
	var elements []attr.Value
	switch v := v.(type) {
	case types.Dynamic:
		return readTexts(v.UnderlyingValue())
	case types.String:
		elements = []attr.Value{v}
	default:
		var list bool
		if elements, list = convert.SequenceElements(v); !list {
			return nil, errors.New("write a string or a list of strings")
		}
	}
	var all []string
	for _, e := range elements {
		s, ok := e.(types.String)
		if !ok || s.IsNull() {
			return nil, errors.New("write a string or a list of strings")
		}
		all = append(all, s.ValueString())
	}
	return all, nil
}

func renderHosts(entries map[netip.Addr][]string) string {
	var b strings.Builder
	for _, loopback := range []struct{ address, names string }{{"127.0.0.1", "localhost"}, {"::1", "localhost ip6-localhost ip6-loopback"}} {
		if _, own := entries[netip.MustParseAddr(loopback.address)]; !own {
			fmt.Fprintf(&b, "%s %s\n", loopback.address, loopback.names)
		}
	}
	for _, addr := range slices.SortedFunc(maps.Keys(entries), netip.Addr.Compare) {
		fmt.Fprintf(&b, "%s %s\n", addr, strings.Join(entries[addr], " "))
	}
	return b.String()
}

// device is the name of a network device, as Linux allows it.
var device = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,15}$`)

// NewResolvConf makes resolv_conf.
func NewResolvConf() function.Function {
	return named{"resolv_conf", function.Definition{
		Summary:             "The text of an /etc/resolv.conf file",
		MarkdownDescription: "The text of an `/etc/resolv.conf` file: a `search` line where there are search domains, then a line for each name server, in order.",
		Parameters: []function.Parameter{
			function.ListParameter{Name: "nameservers", ElementType: types.StringType, MarkdownDescription: "Addresses of the name servers: one to three, because resolvers read no more."},
			function.ListParameter{Name: "search", ElementType: types.StringType, AllowNullValue: true, MarkdownDescription: "Domains that are appended to short names; an empty list or null for none."},
		},
		Return: function.StringReturn{},
	}, renderResolvConf}
}

// maxNameservers is MAXNS of resolv.conf(5): any further one is passed over without a word.
const maxNameservers = 3

func renderResolvConf(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
	var nameservers, search []string
	if err := arguments.Get(ctx, &nameservers, &search); err != nil {
		return nil, err
	}
	if n := len(nameservers); n == 0 || n > maxNameservers {
		return nil, function.NewArgumentFuncError(0, fmt.Sprintf("There are %d name servers: write one to %d, because resolvers read no more", n, maxNameservers))
	}
	var b strings.Builder
	for _, domain := range search {
		if !hostsfile.HostName.MatchString(strings.TrimSuffix(domain, ".")) {
			return nil, function.NewArgumentFuncError(1, fmt.Sprintf("%q is no domain", domain))
		}
	}
	if len(search) > 0 {
		fmt.Fprintf(&b, "search %s\n", strings.Join(search, " "))
	}
	for _, text := range nameservers {
		addr, err := netip.ParseAddr(text)
		// A zone names a network device, which only makes sense for an address of one link.
		if err != nil || addr.Zone() != "" && (!addr.IsLinkLocalUnicast() || !device.MatchString(addr.Zone())) {
			return nil, function.NewArgumentFuncError(0, fmt.Sprintf("%q is no address: write one such as 10.0.0.100, without a port, or fe80::1%%eth0", text))
		}
		fmt.Fprintf(&b, "nameserver %s\n", addr)
	}
	return b.String(), nil
}
