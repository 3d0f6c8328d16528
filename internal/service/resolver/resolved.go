package resolver

import "strings"

// resolvedFormat is a file of resolved.conf(5).
var resolvedFormat = format{
	backend: Resolved, path: "/etc/systemd/resolved.conf.d/90-virtcluster.conf",
	render: func(r Resolver) string {
		domains := append([]string{}, r.Search...)
		for _, d := range r.Domains {
			domains = append(domains, "~"+d)
		}
		if len(r.Domains) == 0 {
			domains = append(domains, "~.") // before those of single devices
		}
		return "[Resolve]\nDNS=" + joinAddresses(r.Nameservers, " ") + "\nDomains=" + strings.Join(domains, " ") + "\n"
	},
	read: func(r *Resolver, line string) {
		switch key, value, _ := strings.Cut(line, "="); key {
		case "DNS":
			r.addNameservers(strings.Fields(value)...)
		case "Domains":
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
