package keepalived

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var update = flag.Bool("update", false, "write the golden files anew")

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// sample is the API address of an OpenShift cluster on two machines.
func sample() VIP {
	return VIP{
		Name: "ocp4-api", Addresses: prefixes("10.0.100.250/24"), RouterID: 222, Version: 2, AdvertInterval: 1,
		AuthPass: "ocp4_api", Unicast: true, Preempt: true,
		Members: []Member{
			{Name: "svc-1", ID: "a", Interface: "eth0", Address: netip.MustParseAddr("10.0.100.101"), Priority: 40, State: "BACKUP"},
			{Name: "svc-2", ID: "b", Interface: "eth0", Address: netip.MustParseAddr("10.0.100.102"), Priority: 40, State: "BACKUP"},
		},
		Track: []Track{{
			Name: "readyz", Script: "/usr/bin/curl -o /dev/null -kLfs https://localhost:6443/readyz",
			Interval: 1, Weight: 50, Rise: 1, Fall: 1, User: "root",
		}},
	}
}

// rich uses everything that an instance has.
func rich() VIP {
	v := sample()
	v.Name, v.RouterID, v.PreemptDelay = "all", 7, 5
	v.Addresses = prefixes("10.0.100.251/24", "fd00:100::251/64", "10.0.100.252/24")
	v.GARP = map[string]int{"garp_master_delay": 2, "garp_master_repeat": 3, "garp_master_refresh": 60}
	v.Track = append(v.Track,
		Track{Name: "lan", Interface: "eth1", Weight: -10},
		Track{Name: "balancer", Process: "sshd", Weight: 5})
	v.Track[0].Timeout, v.Track[0].Rise, v.Track[0].Fall = 2, 3, 2
	return v
}

// grouped fails over together with others of its kind, which leaves no room for weights.
func grouped(name string, id int) VIP {
	v := sample()
	v.Name, v.RouterID, v.SyncGroup, v.Preempt = name, id, "pair", false
	v.Track = []Track{{Name: "balancer", Process: "sshd"}}
	return v
}

// tree is a machine's configuration.
func tree(content string) transaction.Tree {
	if content == "" {
		return transaction.Tree{}
	}
	return transaction.Tree{Path: host.File{Path: Path, Content: []byte(content), Mode: 0o644}}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Fatalf("%s differs (-want +got):\n%s", path, diff)
	}
}

func set(t *testing.T, tr transaction.Tree, in Instance) {
	t.Helper()
	if err := Set(tr, in); err != nil {
		t.Fatal(err)
	}
}
