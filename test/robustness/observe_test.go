package robustness

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// observation is what real clients see: things and their values. What is not in it is not there.
type observation map[string]string

//go:embed observe.sh
var observeScript string

// look asks every machine, the hypervisor and the clients of the network at the same time. What is served is asked for by the
// facts' things.
func (w *world) look(ctx context.Context) (observation, error) {
	seen := observation{}
	var mu sync.Mutex
	add := func(all map[string]string) {
		mu.Lock()
		defer mu.Unlock()
		for thing, value := range all {
			// Several machines may have one address.
			if was := seen[thing]; was != "" && value != "" && strings.HasPrefix(thing, "lan ") {
				value = was + "+" + value
			}
			seen[thing] = value
		}
	}
	var group sync.WaitGroup
	var failed []error
	ask := func(machine, script string, read func(machine, text string) map[string]string) {
		out, err := acctest.Try(ctx, machine, "bash", "-c", script)
		if err != nil && out == "" {
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, fmt.Errorf("look at %s: %w", machine, err))
			return
		}
		add(read(machine, out))
	}
	for _, machine := range machines {
		group.Go(func() { ask(machine, observeScript, readMachine) })
	}
	for _, machine := range farMachines() {
		group.Go(func() { ask(machine, observeFarScript, readFar) })
	}
	group.Go(func() {
		all, err := readHypervisor(ctx)
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, err)
			return
		}
		add(all)
	})
	group.Go(func() { add(askServed(ctx, slices.Collect(maps.Keys(w.model.facts)))) })
	group.Wait()
	return seen, cmp.Or(failed...)
}

// sectionsOf splits what observe.sh prints.
func sectionsOf(text string) map[string]string {
	all := map[string]string{}
	for _, part := range strings.Split("\n"+text, "\n== ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		all[name] = strings.TrimRight(body, "\n")
	}
	return all
}

var (
	// block is a part of a daemon's configuration that a person wrote: its first line has the person's name.
	block     = regexp.MustCompile(`(?m)^[^\n]*\bperson\d+\b[^\n]*\{?\n(?:[ \t]+[^\n]*\n)*(?:\}[^\n]*)?`)
	personal  = regexp.MustCompile(`person\d+`)
	tableText = regexp.MustCompile(`(?ms)^table (\S+ person\d+) \{$.*?^\}$`)
)

// readMachine makes things of what observe.sh printed on a machine.
func readMachine(machine, text string) map[string]string {
	s := sectionsOf(text)
	all := map[string]string{}
	for line := range strings.SplitSeq(s["hosts"], "\n") {
		line, _, _ = strings.Cut(line, "#")
		if f := strings.Fields(line); len(f) > 1 && !strings.HasPrefix(f[0], "127.") {
			slices.Sort(f[1:])
			thing := machine + " hosts " + f[0]
			all[thing] = strings.TrimPrefix(all[thing]+"|"+strings.Join(f[1:], " "), "|")
		}
	}
	readLinks(machine, s["addresses"], all)
	for line := range strings.SplitSeq(s["routes"], "\n") {
		if f := strings.Fields(line); len(f) > 2 && f[1] == "via" && strings.HasPrefix(f[0], "10.7") {
			all[machine+" route "+f[0]] = f[2]
		}
	}
	for _, found := range tableText.FindAllStringSubmatch(s["tables"], -1) {
		all[machine+" table "+found[1]] = strings.Join(strings.Fields(found[0]), " ")
	}
	readStatistics(machine, s["stat"], all)
	if found := regexp.MustCompile(`(?m)^Maxconn: (3\d{3})$`).FindStringSubmatch(s["info"]); found != nil {
		all[machine+" proxy maxconn"] = found[1]
	}
	if version := drawnWord.FindString(s["version"]); version != "" {
		all[machine+" server version"] = version
	}
	readViews(machine, s["views"], all)
	readResolver(machine, s["resolver"], all)
	readExports(machine, s["exports"], all)
	if port := strings.TrimSpace(s["boots"]); port != "" {
		all[machine+" boots"] = port
	}
	for line := range strings.Lines(s["profiles"]) {
		if mac, cmdline, is := strings.Cut(strings.TrimSpace(line), " "); is {
			all[machine+" profile "+mac] = cmdline
		}
	}
	if clients := strings.TrimSpace(s["time"]); clients != "" {
		all[machine+" time"] = clients
	}
	if found := regexp.MustCompile(`"pool": "(.*)"`).FindStringSubmatch(s["dhcp"]); found != nil {
		all[machine+" dhcp"] = found[1]
	}
	readLedgers(machine, s["ledgers"], all)
	for _, file := range []string{"haproxy", "keepalived", "zones"} {
		for _, found := range block.FindAllString(s[file]+"\n", -1) {
			all[machine+" "+file+" "+personal.FindString(found)] = strings.Join(strings.Fields(found), " ")
		}
	}
	for line := range strings.SplitSeq(s["files"], "\n") {
		path, rest, ok := strings.Cut(line, " ")
		if !ok {
			continue
		}
		all[machine+" raw "+path] = rest
		if strings.Contains(path, "person") {
			all[machine+" file "+path] = rest
		}
	}
	for line := range strings.SplitSeq(s["directories"], "\n") {
		if path, rest, ok := strings.Cut(line, " "); ok {
			all[machine+" file "+path] = rest
		}
	}
	all[machine+" raw units"] = strings.ReplaceAll(s["units"], "\n", "; ")
	all[machine+" raw tables"] = strings.Join(strings.Fields(s["tables"]), " ")
	all[machine+" raw forwarding"] = s["forwarding"]
	all[machine+" raw failed"] = s["failed"]
	return all
}

func readStatistics(machine, text string, all map[string]string) {
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "# "))).ReadAll()
	if err != nil || len(rows) == 0 {
		return
	}
	column := slices.Index(rows[0], "addr")
	for _, row := range rows[1:] {
		thing := machine + " backend " + row[0]
		if !regexp.MustCompile(`^b\d$`).MatchString(row[0]) || row[1] == "BACKEND" || row[1] == "FRONTEND" || column < 0 {
			continue
		}
		all[thing] = strings.TrimSpace(all[thing] + " " + row[1] + "=" + row[column])
	}
}

func readLedgers(machine, text string, all map[string]string) {
	for line := range strings.SplitSeq(text, "\n") {
		path, body, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		name := strings.TrimSuffix(path[strings.LastIndex(path, "/")+1:], ".json")
		var ledger struct {
			Ranges []string
			Drawn  map[string]struct{ IP string }
		}
		if json.Unmarshal([]byte(body), &ledger) != nil || ledger.Ranges == nil {
			continue
		}
		all[machine+" pool "+name] = spellRanges(strings.Join(ledger.Ranges, " "))
		for _, d := range ledger.Drawn {
			thing := "lan drawn " + d.IP
			all[thing] = strings.TrimPrefix(all[thing]+"+"+machine+"/"+name, "+")
		}
	}
}

// virsh runs several commands in one process of virsh.
func virsh(ctx context.Context, commands ...string) (string, error) {
	out, err := acctest.Try(ctx, "hypervisor", "virsh", "-q", strings.Join(commands, "; "))
	if err != nil {
		return out, fmt.Errorf("virsh: %w: %s", err, out)
	}
	return out, nil
}

func readHypervisor(ctx context.Context) (map[string]string, error) {
	out, err := virsh(ctx, "net-list --all --name", "echo ==", "list --all --name", "echo ==", "pool-list --all --name")
	if err != nil {
		return nil, err
	}
	var names [3][]string
	for i, part := range strings.SplitN(out, "==", 3) {
		names[i] = strings.Fields(part)
	}
	var commands []string
	for _, n := range names[0] {
		commands = append(commands, "net-dumpxml "+n+" --inactive")
	}
	for _, n := range names[1] {
		commands = append(commands, "dumpxml "+n+" --inactive", "echo \"<snapshots of='"+n+"'>\"", "snapshot-list "+n+" --name", "echo \"</snapshots>\"",
			"echo \"<checkpoints of='"+n+"'>\"", "checkpoint-list "+n+" --name", "echo \"</checkpoints>\"")
	}
	for _, n := range names[2] {
		commands = append(commands, "pool-dumpxml "+n, "echo \"<listed pool='"+n+"'>\"", "vol-list --details "+n, "echo \"</listed>\"")
	}
	all := map[string]string{}
	readDirectories(names[2], all)
	if len(commands) == 0 {
		return all, nil
	}
	if out, err = acctest.Try(ctx, "hypervisor", "virsh", "-q", strings.Join(commands, "; ")); err != nil && out == "" {
		return nil, fmt.Errorf("virsh: %w", err)
	}
	readXML(out, all)
	return all, nil
}

// poolDirectory is where the pool of a name has its volumes.
func poolDirectory(name string) string { return "/var/lib/libvirt/" + name }

// readDirectories makes things of the files of pools that are gone: what others have in them stays.
func readDirectories(pools []string, all map[string]string) {
	for _, name := range []string{"s0", "s1"} {
		if slices.Contains(pools, name) {
			continue
		}
		entries, _ := os.ReadDir(poolDirectory(name))
		for _, e := range entries {
			if info, err := e.Info(); err == nil {
				all["hypervisor volume "+name+"/"+e.Name()] = fmt.Sprint(info.Size())
			}
		}
	}
}

// readXML makes things of what virsh dumped.
func readXML(text string, all map[string]string) {
	decoder := xml.NewDecoder(strings.NewReader(text))
	decoder.Strict = false
	for {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "network":
			var n struct {
				Name string `xml:"name"`
				IPs  []struct {
					Address string `xml:"address,attr"`
					Hosts   []struct {
						MAC string `xml:"mac,attr"`
						IP  string `xml:"ip,attr"`
					} `xml:"dhcp>host"`
				} `xml:"ip"`
			}
			if decoder.DecodeElement(&n, &start) != nil || len(n.IPs) == 0 {
				continue
			}
			all["hypervisor network "+n.Name] = strings.TrimSuffix(n.IPs[0].Address, ".1") + ".0/24"
			for _, h := range n.IPs[0].Hosts {
				all["hypervisor reservation "+n.Name+" "+h.MAC] = h.IP
			}
		case "domain":
			var d struct {
				Name   string `xml:"name"`
				Memory int    `xml:"currentMemory"` // what a guest shall have, which has room for more
			}
			if decoder.DecodeElement(&d, &start) == nil {
				all["hypervisor domain "+d.Name] = fmt.Sprint(d.Memory / 1024)
			}
		case "pool":
			var p struct {
				Name string `xml:"name"`
				Path string `xml:"target>path"`
			}
			if decoder.DecodeElement(&p, &start) == nil {
				all["hypervisor pool "+p.Name] = p.Path
			}
		case "snapshots", "checkpoints":
			var l struct {
				Of   string `xml:"of,attr"`
				Text string `xml:",chardata"`
			}
			if decoder.DecodeElement(&l, &start) == nil {
				for _, name := range strings.Fields(l.Text) {
					all["hypervisor "+strings.TrimSuffix(start.Name.Local, "s")+" "+l.Of+"/"+name] = "there"
				}
			}
		case "listed":
			var l struct {
				Pool string `xml:"pool,attr"`
				Text string `xml:",chardata"`
			}
			if decoder.DecodeElement(&l, &start) != nil {
				continue
			}
			for line := range strings.SplitSeq(l.Text, "\n") {
				// NAME PATH file CAPACITY UNIT ALLOCATION UNIT
				f := strings.Fields(line)
				if len(f) < 5 {
					continue
				}
				// The mark of a volume lies beside it: on its own it is left behind.
				volume, _, mark := strings.Cut(f[0], ".virtcluster-")
				if layer := aLayer.FindStringSubmatch(volume); layer != nil {
					all["hypervisor layers "+layer[1]+"/"+layer[2]] = "there"
				} else if !mark || !strings.Contains(l.Text, " "+volume+" ") {
					all["hypervisor volume "+l.Pool+"/"+f[0]] = bytesOf(f[3], f[4])
				}
			}
		}
	}
}

// aLayer is what a node's disk is in since a snapshot.
var aLayer = regexp.MustCompile(`^(m\d)-.*\.vcsnap-(\w+)~?$`)

// bytesOf is a size of virsh in bytes.
func bytesOf(number, unit string) string {
	var n float64
	_, _ = fmt.Sscan(number, &n)
	scale := map[string]float64{"B": 1, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
	return fmt.Sprintf("%.0f", n*scale[unit])
}

func TestReadMachine(t *testing.T) {
	text := "\n== hosts\n127.0.0.1 localhost\n10.9.0.1 x1.a.example # owner=1\n10.8.0.1 person1.example\n== addresses\n" +
		`[{"ifname":"eth1","addr_info":[{"local":"10.19.41.101"},{"local":"10.19.41.180"}]},{"ifname":"spare0","addr_info":[{"local":"10.19.70.7","prefixlen":24},{"local":"fe80::1","prefixlen":64}]},` +
		`{"ifname":"br0","linkinfo":{"info_kind":"bridge"},"addr_info":[{"local":"10.19.60.5","prefixlen":24}]},{"ifname":"spare1","master":"br0","linkinfo":{"info_kind":"veth"}},{"ifname":"br1","linkinfo":{"info_kind":"bridge"}}]` +
		"\n== routes\ndefault via 10.0.100.254 dev eth0\n10.77.1.0/24 via 10.0.100.250 dev eth0 proto static\n== stat\n# pxname,svname,addr,\nb1,s,10.0.2.1:80,\nb1,BACKEND,,\n" +
		"== info\nMaxconn: 3007\n== version\n\"a17\"\n== views\nv0\n;; ->>HEADER<<- opcode: QUERY, status: NOERROR, id: 1\n;; flags: qr aa ra; QUERY: 1, ANSWER: 1, AUTHORITY: 0, ADDITIONAL: 1\n" +
		"x.z0.example.\t\t3600\tIN\tA\t10.0.0.9\nv2\n;; flags: qr; QUERY: 1\n== resolver\n# search person3.example\nnameserver 10.0.100.101\nsearch b4.example\n" +
		"== boots\n8091\n== profiles\n52:54:00:b0:00:01 bootb7\n== time\n10.30.7.0/24\n== dhcp\n            \"pool\": \"10.19.41.150 - 10.19.41.153\"\n== exports\n/srv/e0  10.0.3.7(sync,wdelay,hide,no_subtree_check,sec=sys,rw,secure,root_squash,no_all_squash)\n/srv/e1  10.8.0.1(sync,ro)\n" +
		"== ledgers\n/var/lib/virtcluster/addresspool/p0a.json\t" + `{"ranges":["10.19.41.200-10.19.41.203"],"drawn":{"k":{"ip":"10.19.41.200"},"l":{"ip":"10.19.41.200"}}}` +
		"\n== haproxy\nglobal\n\tdaemon\nfrontend person1\n\tbind *:15001\n== zones\nzone \"person2.example\" {\n\ttype primary;\n};\n== files\n/srv/person1 640 nobody:nogroup abc\n"
	got := readMachine("svc-1", text)
	for thing, want := range map[string]string{
		"svc-1 hosts 10.9.0.1": "x1.a.example", "lan address 10.19.41.180": "svc-1", "svc-1 route 10.77.1.0/24": "10.0.100.250", "svc-1 backend b1": "s=10.0.2.1:80",
		"lan drawn 10.19.41.200": "svc-1/p0a+svc-1/p0a", "svc-1 pool p0a": "10.19.41.200/30", "svc-1 haproxy person1": "frontend person1 bind *:15001",
		"svc-1 zones person2": `zone "person2.example" { type primary; };`, "svc-1 file /srv/person1": "640 nobody:nogroup abc",
		"svc-1 on spare0 10.19.70.7/24": "there", "svc-1 link br0": "bridge of spare1", "svc-1 on br0 10.19.60.5/24": "there", "svc-1 link br1": "bridge of", "svc-1 proxy maxconn": "3007",
		"svc-1 server version": "a17", "svc-1 view v0": "recursion true", "svc-1 view v0 x.z0.example": "10.0.0.9", "svc-1 view v2": "recursion false",
		"svc-1 asks person3": "search person3.example", "svc-1 resolver": "nameserver 10.0.100.101 search b4.example", "svc-1 export /srv/e0": "10.0.3.7(rw)", "svc-1 export /srv/e1": "10.8.0.1(ro)", "svc-1 boots": "8091", "svc-1 profile 52:54:00:b0:00:01": "bootb7", "svc-1 time": "10.30.7.0/24", "svc-1 dhcp": "10.19.41.150 - 10.19.41.153",
	} {
		t.Run(thing, func(t *testing.T) {
			if got[thing] != want {
				t.Errorf("%s is %q, want %q", thing, got[thing], want)
			}
		})
	}
}

func TestReadXML(t *testing.T) {
	got := map[string]string{}
	readXML("<network>\n<name>n1</name><ip address='10.63.1.1' netmask='255.255.255.0'><dhcp><host mac='52:54:00:63:00:01' ip='10.63.1.10'/></dhcp></ip></network>\n"+
		"<domain type='qemu'><name>m0</name><memory unit='KiB'>98304</memory><currentMemory unit='KiB'>65536</currentMemory></domain>\n<pool type='dir'><name>s0</name><target><path>/var/lib/libvirt/s0</path></target></pool>\n"+
		"<listed pool='s0'>\n vol0.qcow2  /var/lib/libvirt/s0/vol0.qcow2  file  1.00 GiB  196.00 KiB\n m0-root.qcow2.vcsnap-snap1~  /x  file  1.00 GiB  196.00 KiB\n</listed><snapshots of='m0'>\nsnap1\n</snapshots><checkpoints of='m0'>\nback0.2\nback1\n</checkpoints>", got)
	for thing, want := range map[string]string{
		"hypervisor network n1": "10.63.1.0/24", "hypervisor reservation n1 52:54:00:63:00:01": "10.63.1.10", "hypervisor domain m0": "64",
		"hypervisor pool s0": "/var/lib/libvirt/s0", "hypervisor volume s0/vol0.qcow2": "1073741824", "hypervisor snapshot m0/snap1": "there", "hypervisor layers m0/snap1": "there",
		"hypervisor checkpoint m0/back0.2": "there", "hypervisor checkpoint m0/back1": "there",
	} {
		t.Run(thing, func(t *testing.T) {
			if got[thing] != want {
				t.Errorf("%s is %q, want %q", thing, got[thing], want)
			}
		})
	}
}

func TestAHistoryHasWhatWasSeenBeforeAndAfter(t *testing.T) {
	was := observation{"stays": "a", "changes": "a", "goes": "a"}
	got := was.listChanges(observation{"stays": "a", "changes": "b", "comes": "c"})
	want := map[string][2]string{"changes": {"a", "b"}, "goes": {"a", ""}, "comes": {"", "c"}}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
