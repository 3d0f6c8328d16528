package functions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
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
