package robustness

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// hostKinds are what a machine's network has beside what others are reached by. The machines' spare interfaces lead nowhere.
var hostKinds = []kind{
	{name: "external_bridge", weight: 2, identity: []string{"host", "name"},
		draw: func(d drawer) map[string]any {
			n := d.IntN(2)
			return map[string]any{"host": d.node(d.machine()), "name": fmt.Sprintf("br%d", n), "interfaces": []any{map[string]any{"interface": fmt.Sprintf("spare%d", 1+d.IntN(2))}},
				"addresses": []string{fmt.Sprintf("10.19.%d.%d/24", 60+n, 1+50*d.state+d.IntN(50))}, "backend": "systemd-networkd"}
		},
		claims: func(a attributes) []claim {
			m, port := a.machine("host"), firstOf(a["interfaces"]).text("interface")
			all := []claim{{m + " link " + a.text("name"), []string{"bridge of " + port}}, {Thing: "name " + m + " port " + port}}
			return append(all, claimAddresses(m, a)...)
		}},
	{name: "interface", weight: 2, identity: []string{"host", "name"},
		draw: func(d drawer) map[string]any {
			return map[string]any{"host": d.node(d.machine()), "name": "spare0", "addresses": []string{fmt.Sprintf("10.19.70.%d/24", 1+50*d.state+d.IntN(50))}, "backend": "systemd-networkd"}
		},
		claims: func(a attributes) []claim {
			m := a.machine("host")
			return append(claimAddresses(m, a), claim{Thing: "name " + m + " interface " + a.text("name")})
		}},
}

func claimAddresses(machine string, a attributes) []claim {
	var all []claim
	for _, address := range list(a["addresses"]) {
		all = append(all, claim{fmt.Sprintf("%s on %s %s", machine, a.text("name"), address), []string{"there"}})
	}
	return all
}

// An interface without a carrier gets no addresses of networkd, so the other ends of the spare ones are up. They are there again after a reboot.
const spareScript = `cat >/etc/systemd/system/spare.service <<'UNIT'
[Unit]
DefaultDependencies=no
Before=systemd-networkd.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'for n in 0 1 2; do ip link add spare$$n type veth peer name peer$$n && ip link set peer$$n up || exit 1; done'
[Install]
WantedBy=multi-user.target
UNIT
systemctl daemon-reload && systemctl enable --quiet --now spare`

var spareLink = regexp.MustCompile(`^(spare|br)\d$`)

// readLinks makes things of what ip(8) shows: addresses of the LAN, and what is in and on the spare interfaces and bridges.
func readLinks(machine, text string, all map[string]string) {
	var links []struct {
		Name   string `json:"ifname"`
		Master string
		Info   struct {
			Kind string `json:"info_kind"`
		} `json:"linkinfo"`
		Addresses []struct {
			Local  string
			Length int `json:"prefixlen"`
		} `json:"addr_info"`
	}
	_ = json.Unmarshal([]byte(text), &links)
	ports := map[string][]string{}
	for _, link := range links {
		for _, a := range link.Addresses {
			switch {
			case strings.HasPrefix(a.Local, "10.19.41."):
				all["lan address "+a.Local] = machine
			case spareLink.MatchString(link.Name) && !strings.Contains(a.Local, ":"):
				all[fmt.Sprintf("%s on %s %s/%d", machine, link.Name, a.Local, a.Length)] = "there"
			}
		}
		if link.Info.Kind == "bridge" {
			ports[link.Name] = append(ports[link.Name], "")
		}
		if link.Master != "" {
			ports[link.Master] = append(ports[link.Master], link.Name)
		}
	}
	for _, bridge := range slices.Sorted(maps.Keys(ports)) {
		slices.Sort(ports[bridge])
		all[machine+" link "+bridge] = strings.TrimRight("bridge of "+strings.Join(ports[bridge][1:], " "), " ")
	}
}
