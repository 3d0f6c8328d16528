package provision

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// unmodelled is what people configure on the machines of a cluster beside the daemons whose configuration is read: patterns of files, and
// directories, which end with a "/"; and what is to be had of it here.
var unmodelled = []struct {
	places  []string
	instead string
}{
	{
		[]string{"/etc/dhcp/dhcpd.conf", "/etc/dhcp/dhcpd6.conf", "/etc/dhcpd.conf", "/etc/kea/kea-dhcp4.conf", "/etc/kea/kea-dhcp6.conf"},
		"What a DHCP server hands out is a virtcluster_dhcp_server here, or a network's dhcp.",
	},
	{
		[]string{"/etc/dnsmasq.conf", "/etc/dnsmasq.d/*"},
		"What dnsmasq answers is a virtcluster_dns_zone, a virtcluster_dhcp_server and a virtcluster_boot_server here.",
	},
	{
		[]string{"/var/lib/tftpboot/", "/srv/tftp/", "/tftpboot/", "/etc/default/tftpd-hpa", "/etc/xinetd.d/tftp"},
		"What machines boot from the network is a virtcluster_boot_server here.",
	},
	{
		[]string{
			"/etc/httpd/conf/httpd.conf", "/etc/httpd/conf.d/*.conf", "/etc/apache2/apache2.conf", "/etc/apache2/ports.conf", "/etc/apache2/conf-enabled/*",
			"/etc/apache2/sites-enabled/*", "/etc/nginx/nginx.conf", "/etc/nginx/conf.d/*.conf", "/etc/nginx/sites-enabled/*",
		},
		"Files by HTTP are a virtcluster_http_content here.",
	},
	{
		[]string{"/etc/nftables.conf", "/etc/nftables.d/*", "/etc/sysconfig/nftables.conf", "/etc/iptables/rules.v4", "/etc/iptables/rules.v6", "/etc/sysconfig/iptables", "/etc/sysconfig/ip6tables"},
		filters,
	},
}

const filters = "A virtcluster_exposed_service and a virtcluster_floating_address have a table of their own beside it."

// unmodelledScript prints which of some places have something, and which packet filters there are, as lines that parseUnmodelled reads.
//
//go:embed unmodelled.sh
var unmodelledScript string

// ListUnmodelled lists what a machine has for a cluster that no resource reads: files that say something, directories with something in them,
// and packet filters. Nothing of what is in them is told.
func ListUnmodelled(ctx context.Context, h host.Host) ([]service.Unmodelled, error) {
	var places []string
	for _, u := range unmodelled {
		places = append(places, u.places...)
	}
	out, err := h.Run(ctx, host.RepeatableScript("look for what is not modelled", unmodelledScript, places...))
	if err != nil {
		return nil, err
	}
	return parseUnmodelled(string(out))
}

func parseUnmodelled(text string) (all []service.Unmodelled, err error) {
	add := func(place, what, instead string) {
		all = append(all, service.Unmodelled{Place: place, What: what + " not looked at. " + instead})
	}
	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch kind {
		case "file":
			add(rest, "It is", findInstead(rest))
		case "files":
			count, directory, _ := strings.Cut(rest, " ")
			add(directory, fmt.Sprintf("The files in it (%s) are", count), findInstead(directory))
		case "rules":
			program, table, _ := strings.Cut(rest, " ")
			add("table "+table+" of "+program, "Its rules are", filters)
		default:
			return nil, fmt.Errorf("unexpected answer %.80q", line)
		}
	}
	return all, nil
}

// findInstead returns what is to be had of a place here.
func findInstead(at string) string {
	for _, u := range unmodelled {
		for _, pattern := range u.places {
			if matches, err := path.Match(pattern, at); err == nil && matches {
				return u.instead
			}
		}
	}
	return ""
}
