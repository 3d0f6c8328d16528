package resolver

import (
	"net/netip"
	"slices"
	"strings"
)

// managerFormat is a file of NetworkManager.conf(5): what it says counts instead of what the connections say.
var managerFormat = format{
	backend: NetworkManager, path: "/etc/NetworkManager/conf.d/90-virtcluster.conf",
	render: func(r Resolver) string {
		text := "[global-dns]\n"
		if len(r.Search) > 0 {
			text += "searches=" + strings.Join(r.Search, ",") + "\n"
		}
		return text + "\n[global-dns-domain-*]\nservers=" + joinAddresses(r.Nameservers, ",") + "\n"
	},
	read: func(r *Resolver, line string) {
		switch key, value, _ := strings.Cut(line, "="); key {
		case "searches":
			r.Search = strings.Split(value, ",")
		case "servers":
			r.addNameservers(strings.Split(value, ",")...)
		}
	},
}

// dnsmasqFormat is a file of dnsmasq.conf(5), for the one that NetworkManager runs.
var dnsmasqFormat = format{
	backend: NetworkManager, path: "/etc/NetworkManager/dnsmasq.d/90-virtcluster.conf",
	render: func(r Resolver) string {
		text := ""
		for _, d := range r.Domains {
			for _, a := range r.Nameservers {
				text += "server=/" + d + "/" + a.String() + "\n"
			}
		}
		if len(r.Search) > 0 {
			text += "# search " + strings.Join(r.Search, " ") + "\n"
		}
		return text
	},
	read: func(r *Resolver, line string) {
		if domains, is := strings.CutPrefix(line, "# search "); is {
			r.Search = strings.Fields(domains)
		}
		if server, is := strings.CutPrefix(line, "server=/"); is {
			domain, address, _ := strings.Cut(server, "/")
			if !slices.Contains(r.Domains, domain) {
				r.Domains = append(r.Domains, domain)
			}
			if a, err := netip.ParseAddr(address); err == nil && !slices.Contains(r.Nameservers, a) {
				r.Nameservers = append(r.Nameservers, a) // which stands there for each domain
			}
		}
	},
}

// resolvedFormat is a file of resolved.conf(5).
var resolvedFormat = format{
	backend: Resolved, path: "/etc/systemd/resolved.conf.d/90-virtcluster.conf",
	render: func(r Resolver) string {
		domains := append([]string{}, r.Search...)
		for _, d := range r.Domains {
			domains = append(domains, "~"+d)
		}
		instead := "" // of those that other files have for every name, to which each line adds
		if len(r.Domains) == 0 {
			instead = "DNS=\nDomains=\n"
			domains = append(domains, "~.") // before those of single devices
		}
		return "[Resolve]\n" + instead + "DNS=" + joinAddresses(r.Nameservers, " ") + "\nDomains=" + strings.Join(domains, " ") + "\n"
	},
	read: func(r *Resolver, line string) {
		key, value, _ := strings.Cut(line, "=")
		switch key, value = strings.TrimSpace(key), strings.TrimSpace(value); {
		case key == "DNS" && value == "":
			r.Nameservers = nil
		case key == "Domains" && value == "":
			r.Search, r.Domains = nil, nil
		case key == "DNS":
			r.addNameservers(strings.Fields(value)...)
		case key == "Domains":
			for _, d := range strings.Fields(value) {
				if split, only := strings.CutPrefix(d, "~"); !only {
					r.Search = append(r.Search, d)
				} else if split != "." {
					r.Domains = append(r.Domains, split)
				}
			}
		}
	},
}
