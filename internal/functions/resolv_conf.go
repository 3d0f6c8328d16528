package functions

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostsfile"
)

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
