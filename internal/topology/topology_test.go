package topology

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/goldentest"
)

// cluster is one with so many machines beside a pair of service nodes.
func cluster(workers int) Topology {
	t := Topology{
		Title: "okd.example",
		Networks: map[string]Network{
			"kimgtnet0": {CIDR: "10.0.0.0/24", Gateway: "10.0.0.254", Mode: "nat"},
			"external":  {CIDR: "10.19.41.0/24", Gateway: "10.19.41.254", Mode: "bridge", Outside: true},
		},
		Machines: map[string]Machine{
			"okd-service-01": {Role: "service", Addresses: map[string]string{"kimgtnet0": "10.0.0.100", "external": "10.19.41.157"}},
			"okd-service-02": {Role: "service", Addresses: map[string]string{"kimgtnet0": "10.0.0.101", "external": "10.19.41.158"}},
		},
		VIPs: map[string]VIP{
			"okd-api":     {Network: "kimgtnet0", Address: "10.0.0.250", Members: []string{"okd-service-01", "okd-service-02"}, Owner: "okd-service-01"},
			"okd-ingress": {Network: "external", Address: "10.19.41.160", Members: []string{"okd-service-01", "okd-service-02"}, Owner: "okd-service-01"},
		},
		Frontends: map[string]Frontend{},
		Views: map[string]View{
			"external": {Network: "external", Machines: []string{"okd-service-01", "okd-service-02"}, Clients: []string{"who asks 10.19.41.0/24"}, Zones: []string{"okd.example"}},
			"internal": {Network: "kimgtnet0", Machines: []string{"okd-service-01", "okd-service-02"}, Clients: []string{"10.0.0.0/24"}, Zones: []string{"okd.example", "0.0.10.in-addr.arpa"}},
		},
		Exposures: map[string]Exposure{"ssh": {Machine: "okd-service-01", Address: "10.19.41.170", Ports: []string{"2222/tcp"}, Targets: []string{"10.0.0.1:22"}}},
	}
	servers := func(role string) (all []string) {
		for i := 1; ; i++ {
			name := fmt.Sprintf("okd-%s-%02d", role, i)
			if _, is := t.Machines[name]; !is {
				return all
			}
			all = append(all, name)
		}
	}
	if workers < 0 { // three machines in all
		t.Machines["okd-master-01"] = Machine{Role: "master", Addresses: map[string]string{"kimgtnet0": "10.0.0.1"}}
	} else {
		for i := 1; i <= 3; i++ {
			t.Machines[fmt.Sprintf("okd-master-%02d", i)] = Machine{Role: "master", State: "running", Addresses: map[string]string{"kimgtnet0": fmt.Sprintf("10.0.0.%d", i)}}
		}
		t.Machines["okd-bootstrap-01"] = Machine{Role: "bootstrap", State: "running", Addresses: map[string]string{"kimgtnet0": "10.0.0.200"}}
		for i := 1; i <= workers; i++ {
			t.Machines[fmt.Sprintf("okd-worker-%02d", i)] = Machine{Role: "worker", State: "running", Addresses: map[string]string{"kimgtnet0": fmt.Sprintf("10.0.0.%d", i+3)}}
		}
	}
	both := []string{"okd-service-01", "okd-service-02"}
	for name, f := range map[string]struct{ port, role string }{"api": {"6443", "master"}, "ingress-https": {"443", "worker"}, "ingress-http": {"80", "worker"}} {
		t.Frontends["okd-"+name] = Frontend{Machines: both, Binds: []string{"10.0.0.250:" + f.port, "10.19.41.160:" + f.port}, Servers: servers(f.role)}
	}
	t.Frontends["okd-machine-config"] = Frontend{Machines: both, Binds: []string{"10.0.0.250:22623"}, Servers: append(servers("master"), servers("bootstrap")...)}
	return t
}

// provisioned is one whose machines are all on two networks, of several hypervisors, some with long names.
func provisioned() Topology {
	t := cluster(22)
	t.Networks["provisioning"] = Network{CIDR: "172.22.0.0/24", Mode: "isolated", Hypervisor: "kvm-2.a-long-domain.example"}
	for name, m := range t.Machines {
		m.Hypervisor = "kvm-2"
		if m.Role != "service" {
			m.Addresses["provisioning"] = strings.Replace(m.Addresses["kimgtnet0"], "10.0.0", "172.22.0", 1)
		}
		t.Machines[name] = m
	}
	t.Machines["a-machine-with-a-name-that-is-longer-than-what-a-box-can-reasonably-have"] = Machine{Role: "storage & backup", Addresses: map[string]string{"kimgtnet0": "2001:db8:1234:5678:9abc:def0:1234:5678"}}
	return t
}

// newSpreadTopology is one whose network reaches over three hypervisors.
func newSpreadTopology() Topology {
	t := cluster(7)
	n := 0
	for _, name := range slices.Sorted(maps.Keys(t.Machines)) {
		m := t.Machines[name]
		m.Hypervisor = fmt.Sprintf("kvm-%d", n%3+1)
		t.Machines[name] = m
		n++
	}
	return t
}

func pictures() map[string]Topology {
	return map[string]Topology{"spread": newSpreadTopology(), "three": cluster(-1), "ten": cluster(4), "thirty": cluster(24), "provisioned": provisioned(), "empty": {Title: "nothing"}}
}

// Machines of a network that reaches over several hypervisors are in rows of these, which no machine of another one is in.
func TestEachHypervisorHasRowsOfItsOwn(t *testing.T) {
	t.Parallel()
	topology := newSpreadTopology()
	for _, ln := range topology.placeElements().lanes {
		rows := map[float64]string{}
		for _, b := range ln.boxes {
			m, is := topology.Machines[b.title]
			if !is || b.tag != "" || m.Role == "service" {
				continue
			}
			if other := rows[b.y]; other != "" && other != m.Hypervisor {
				t.Errorf("%s is on %s, in a row of %s", b.title, m.Hypervisor, other)
			}
			rows[b.y] = m.Hypervisor
		}
		if ln.title == "kimgtnet0" && (len(rows) < 3 || !strings.Contains(fmt.Sprint(ln.groups), "masters · kvm-") && !strings.Contains(fmt.Sprint(ln.groups), "master · kvm-")) {
			t.Errorf("rows %v under %v", rows, ln.groups)
		}
	}
}

func TestNoTwoElementsOverlapAndEachIsInItsLane(t *testing.T) {
	t.Parallel()
	for name, topology := range pictures() {
		p := topology.placeElements()
		for i, ln := range p.lanes {
			if i > 0 && ln.y < p.lanes[i-1].y+p.lanes[i-1].h {
				t.Errorf("%s: lane %s begins in the one above", name, ln.title)
			}
			for j, a := range ln.boxes {
				if a.x < ln.x+topologyHead(topology) || a.y < ln.y || a.x+a.w > ln.x+ln.w || a.y+a.h > ln.y+ln.h {
					t.Errorf("%s: %s is not inside lane %s", name, a.title, ln.title)
				}
				for _, b := range ln.boxes[:j] {
					if a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h {
						t.Errorf("%s: %s and %s overlap", name, a.title, b.title)
					}
				}
				for _, g := range ln.groups {
					if g.x < a.x+a.w && a.x < g.x+textWidth(g.text, small) && g.y-10 < a.y+a.h && a.y < g.y {
						t.Errorf("%s: %s is over %q", name, a.title, g.text)
					}
				}
				if a.tag == "" {
					for _, text := range append([]string{shortenName(a.title)}, a.lines...) {
						if textWidth(text, small) > a.w-16 {
							t.Errorf("%s: %q is wider than its box", name, text)
						}
					}
				}
			}
		}
		if len(p.lanes) > 0 && p.h < p.lanes[len(p.lanes)-1].y+p.lanes[len(p.lanes)-1].h {
			t.Errorf("%s: the last lane is cut off", name)
		}
	}
}

// topologyHead is the width of what a lane says of itself, which no box may cover.
func topologyHead(t Topology) float64 {
	l := &layouter{Topology: t, columns: t.servingMachines()}
	l.measureTexts()
	return l.head
}

func TestEveryMachineIsInThePictureAndHasATable(t *testing.T) {
	t.Parallel()
	for name, topology := range pictures() {
		svg, page := topology.SVG(), must(topology.HTML())
		for machine := range topology.Machines {
			if !strings.Contains(svg, "<title>"+machine) {
				t.Errorf("%s: %s is not in the picture", name, machine)
			}
		}
		ids, links := anchors(t, page)
		for _, to := range links {
			if !ids[to] {
				t.Errorf("%s: nothing is behind %q", name, to)
			}
		}
		if len(links) < len(topology.Machines) {
			t.Errorf("%s: %d links", name, len(links))
		}
		var again Topology
		if err := json.Unmarshal([]byte(must(topology.JSON())), &again); err != nil || len(again.Machines) != len(topology.Machines) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// anchors are what a page has: ids, and where its links lead. Anything from elsewhere is an error.
func anchors(t *testing.T, page string) (ids map[string]bool, links []string) {
	t.Helper()
	ids = map[string]bool{}
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				if ids[a.Val] {
					t.Errorf("two elements are %q", a.Val)
				}
				ids[a.Val] = true
			case "href", "src":
				links = append(links, strings.TrimPrefix(a.Val, "#"))
			}
		}
	}
	return ids, links
}

func TestWhatIsToldCannotBreakOut(t *testing.T) {
	t.Parallel()
	nasty := `<script>alert(1)</script>"#]` + "`"
	topology := cluster(1)
	topology.Title = nasty
	topology.Machines[nasty] = Machine{Role: nasty, State: nasty, Addresses: map[string]string{"kimgtnet0": nasty}}
	for kind, text := range map[string]string{"svg": topology.SVG(), "html": must(topology.HTML())} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(text, "<script") || strings.Contains(text, `class="box <`) {
				t.Errorf("%s has it as it is", kind)
			}
		})
	}
	if text := topology.Mermaid(); strings.Contains(text, "<script") || strings.Contains(text, `)"#]`) {
		t.Error("Mermaid's text has it as it is")
	}
}

func TestNamesThatNothingHasAreNamedAtTheirPlace(t *testing.T) {
	t.Parallel()
	topology := cluster(1)
	topology.Machines["x"] = Machine{Addresses: map[string]string{"nowhere": "10.0.0.9"}}
	topology.VIPs["okd-api"] = VIP{Network: "kimgtnet0", Members: []string{"okd-service-03"}}
	all := topology.Validate()
	if len(all) != 2 || !strings.Contains(all[0].Detail, "nowhere") || !strings.Contains(all[1].Detail, "okd-service-03") {
		t.Errorf("%v", all)
	}
	if all := cluster(3).Validate(); len(all) > 0 {
		t.Errorf("%v", all)
	}
}

func TestMermaidGolden(t *testing.T) { goldentest.Compare(t, "testdata/ten.mmd", cluster(4).Mermaid()) }

func TestSVGGolden(t *testing.T) { goldentest.Compare(t, "testdata/ten.svg", cluster(4).SVG()) }

// These are also what test/pictures draws, to be looked at.
func TestJSONGolden(t *testing.T) {
	t.Parallel()
	for name, topology := range pictures() {
		t.Run(name, func(t *testing.T) { goldentest.Compare(t, "testdata/"+name+".json", must(topology.JSON())) })
	}
}

func must(text string, err error) string {
	if err != nil {
		panic(err)
	}
	return text
}
