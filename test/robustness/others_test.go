package robustness

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// otherKinds are the rest: what a machine serves besides, what a pool has in it, and what is on no machine at all.
var otherKinds = []kind{
	// The directories of two are there from the beginning; those that the provider makes for exports stay, and are looked at by its plans.
	{name: "nfs_export", weight: 2, identity: []string{"service_node", "path", "permissions"},
		draw: func(d drawer) map[string]any {
			a := map[string]any{"service_node": d.node(d.machine()), "path": exportPaths[d.IntN(len(exportPaths))], "clients": []any{map[string]any{"match": fmt.Sprintf("10.%d.3.%d", d.state, 1+d.IntN(250)), "options": []string{"rw"}}}}
			if strings.HasPrefix(fmt.Sprint(a["path"]), madeDirectory) {
				a["permissions"] = "0750"
			}
			return a
		},
		claims: func(a attributes) []claim {
			var all []string
			for _, c := range list(a["clients"]) {
				client := attributes(object(c))
				all = append(all, client.text("match")+"("+words(object(c)["options"])+")")
			}
			return []claim{{a.machine("service_node") + " export " + a.text("path"), []string{strings.Join(all, " ")}}}
		}},
	{name: "floating_address", weight: 2, identity: []string{"service_node", "target", "pool"},
		draw: func(d drawer) map[string]any {
			m := d.machine()
			a := map[string]any{"service_node": d.node(m), "target": addressOf(1 - slices.Index(machines, m)), "interface": "eth1"}
			if d.IntN(3) > 0 {
				a["ports"] = map[string]any{"s": map[string]any{"port": targetPort}}
			}
			if pool, ok := d.one("address_pool"); ok && d.IntN(3) == 0 {
				a["pool"] = "${" + pool.address() + ".id}"
			} else {
				a["address"] = drawOnLAN(d.Rand)
			}
			return a
		},
		claims: func(a attributes) []claim {
			m, target := a.machine("service_node"), a.machine("target")
			all := []claim{{Thing: "name " + m + " floating " + target}}
			if address := a.text("address"); address != "" {
				all = append(all, claim{"lan address " + address, []string{m}}, claim{fmt.Sprintf("%s open %s:%d", m, address, targetPort), []string{target}})
				if pool := a.named("pool"); pool != "" {
					all = append(all, claim{"lan drawn " + address, []string{a.machine("pool") + "/" + pool}})
				}
			}
			return all
		}},
	{name: "haproxy", weight: 1, identity: []string{"service_node"},
		draw: func(d drawer) map[string]any {
			return map[string]any{"service_node": d.node(d.machine()), "maxconn": 3000 + 100*d.state + d.IntN(100), "health": map[string]any{"port": 15000 + d.IntN(5), "uri": "/"}}
		},
		claims: func(a attributes) []claim {
			m := a.machine("service_node")
			return []claim{{m + " proxy maxconn", []string{a.text("maxconn")}}, {m + " http " + attributes(object(a["health"])).text("port"), []string{healthy}}}
		}},
	// There is one on the LAN, whichever machine serves it: who comes second is refused.
	{name: "dhcp_server", weight: 1, identity: []string{"service_node", "interface"},
		draw: func(d drawer) map[string]any {
			start := 150 + 7*d.state // below the addresses that others want
			return map[string]any{"service_node": d.node(d.machine()), "interface": "eth1", "cidr": "10.19.41.0/24",
				"ranges": []any{map[string]any{"start": fmt.Sprintf("10.19.41.%d", start), "end": fmt.Sprintf("10.19.41.%d", start+1+d.IntN(5))}}}
		},
		claims: func(a attributes) []claim {
			r := firstOf(a["ranges"])
			return []claim{{a.machine("service_node") + " dhcp", []string{r.text("start") + " - " + r.text("end")}}, {Thing: "name lan dhcp"}}
		}},
	{name: "time_server", weight: 1, identity: []string{"service_node"},
		draw: func(d drawer) map[string]any {
			return map[string]any{"service_node": d.node(d.machine()), "clients": []string{fmt.Sprintf("10.%d.%d.0/24", 30+d.state, d.IntN(250))}}
		},
		claims: func(a attributes) []claim {
			return []claim{{a.machine("service_node") + " time", []string{words(a["clients"])}}}
		}},
	{name: "registry", weight: 1, identity: []string{"service_node", "name"},
		draw: func(d drawer) map[string]any {
			n := d.IntN(2)
			return map[string]any{"service_node": d.node(d.machine()), "name": fmt.Sprintf("g%d", n), "port": 5000 + n}
		},
		claims: func(a attributes) []claim {
			return []claim{{a.machine("service_node") + " content " + a.text("port") + "/v2/", []string{"{}"}}, {Thing: "name " + a.machine("service_node") + " registry " + a.text("name")}}
		}},
	{name: "http_content", weight: 1, identity: []string{"service_node", "listen", "path"},
		draw: func(d drawer) map[string]any {
			m := d.machine()
			return map[string]any{"service_node": d.node(m), "listen": addressOf(slices.Index(machines, m)) + fmt.Sprintf(":%d", 8080+d.IntN(2)),
				"path": fmt.Sprintf("/w%d", d.IntN(2)), "content": serverVersion(d) + "\n"}
		},
		claims: func(a attributes) []claim {
			_, port, _ := strings.Cut(a.text("listen"), ":")
			return []claim{{a.machine("service_node") + " content " + port + a.text("path"), []string{strings.TrimSpace(a.text("content"))}}}
		}},
	{name: "boot_server", weight: 1, identity: []string{"service_node", "http"},
		draw: func(d drawer) map[string]any {
			m := d.machine()
			return map[string]any{"service_node": d.node(m), "tftp": d.IntN(2) == 0, "http": map[string]any{"address": addressOf(slices.Index(machines, m)), "port": 8090 + d.IntN(2)}}
		},
		claims: func(a attributes) []claim {
			return []claim{{a.machine("service_node") + " boots", []string{attributes(object(a["http"])).text("port")}}}
		}},
	{name: "boot_profile", weight: 2, identity: []string{"boot_server", "name"},
		draw: func(d drawer) map[string]any {
			server, ok := d.one("boot_server")
			if !ok {
				return nil
			}
			n := d.IntN(2)
			return map[string]any{"boot_server": "${" + server.address() + ".id}", "name": fmt.Sprintf("p%d", n), "mac": fmt.Sprintf("52:54:00:b0:00:%02x", n), "kernel": kernelURL, "cmdline": fmt.Sprintf("boot%s%d", letter(d.state), d.IntN(50))}
		},
		claims: func(a attributes) []claim {
			return []claim{{a.machine("boot_server") + " profile " + a.text("mac"), []string{a.text("cmdline")}}}
		}},
	{name: "image", weight: 2, identity: []string{"name", "pool"},
		draw: func(d drawer) map[string]any {
			return map[string]any{"name": volumeNames[d.IntN(len(volumeNames))], "pool": d.storagePool(), "source": "${path.module}/" + imageFile(1+d.IntN(imageCount)), "format": "raw"}
		},
		claims: func(a attributes) []claim {
			size := a.text("virtual_size_bytes")
			if m := regexp.MustCompile(`image-(\d)`).FindStringSubmatch(a.text("source")); size == "" && m != nil {
				size = fmt.Sprint(int(m[1][0]-'0') << 20)
			}
			return []claim{{"hypervisor volume " + poolNamed(a.text("pool")) + "/" + a.text("name"), []string{size}}}
		}},
	{name: "pod_network", weight: 1, identity: []string{"cidr"},
		draw: func(d drawer) map[string]any {
			nodes := map[string]any{}
			for n := range 1 + d.IntN(4) {
				nodes[fmt.Sprintf("w%d", n)] = fmt.Sprintf("10.0.100.%d", 1+n)
			}
			return map[string]any{"cidr": fmt.Sprintf("10.%d.%d.0/20", 140+d.state, 16*d.IntN(2)), "host_prefix": 24, "nodes": nodes}
		},
		claims: func(a attributes) []claim { return []claim{{Thing: "name pods " + a.text("cidr")}} }},
	{name: "readiness", weight: 1,
		draw: func(d drawer) map[string]any {
			a := map[string]any{"tcp": addressOf(d.IntN(len(machines))) + ":22", "timeout": "60s"}
			if d.IntN(2) == 0 {
				a["from"] = d.node(d.machine())
			}
			return a
		},
		claims: func(attributes) []claim { return nil }},
}

// madeDirectory is where exports have their directories made; others are there already.
const madeDirectory = "/srv/made"

var exportPaths = []string{"/srv/e0", "/srv/e1", madeDirectory + "/e2"}

// The sandbox's kernel serves no NFS, so a unit that keeps to what the real one does with exportfs's table stands for it.
const exportScript = `mkdir -p /srv/e0 /srv/e1
printf '%s\n' '[Service]' Type=oneshot RemainAfterExit=yes 'ExecStartPre=-/usr/sbin/exportfs -r' ExecStart=/bin/true 'ExecStopPost=/usr/sbin/exportfs -au' '[Install]' WantedBy=multi-user.target >/etc/systemd/system/nfs-server.service
systemctl daemon-reload`

// healthy is what HAProxy says where it is asked whether it runs.
const healthy = "<html><body><h1>200 OK</h1>\nService ready.\n</body></html>"

// drawOnLAN draws one of few addresses of the LAN that states and a person want.
func drawOnLAN(rng *rand.Rand) string { return fmt.Sprintf("10.19.41.%d", 180+rng.IntN(5)) }

const imageCount = 3

func imageFile(n int) string { return fmt.Sprintf("image-%d.raw", n) }

// writeImages makes files to upload, each of another size.
func writeImages(dir string) error {
	for n := 1; n <= imageCount; n++ {
		if err := os.WriteFile(filepath.Join(dir, imageFile(n)), make([]byte, n<<20), 0o600); err != nil {
			return err
		}
	}
	return nil
}

var exportLine = regexp.MustCompile(`(?m)^(/\S+)\s+(\S+?)\((\S+)\)$`)

// readExports makes things of what exportfs(8) lists, with the option that was asked for.
func readExports(machine, text string, all map[string]string) {
	for _, found := range exportLine.FindAllStringSubmatch(text, -1) {
		option := "ro"
		if slices.Contains(strings.Split(found[3], ","), "rw") {
			option = "rw"
		}
		thing := machine + " export " + found[1]
		all[thing] = strings.TrimPrefix(all[thing]+" "+found[2]+"("+option+")", " ")
	}
}
