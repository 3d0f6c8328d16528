package alloc

import (
	"fmt"
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

func TestMACIsTheSameForEver(t *testing.T) {
	t.Parallel()
	// These values are in people's state and in their DHCP servers: a change here renumbers clusters.
	for _, c := range []struct {
		name  string
		index int
		want  string
	}{
		{"okd-master-01", 0, "52:54:00:22:5d:84"},
		{"okd-master-01", 1, "52:54:00:27:cb:e2"},
		{"okd-master-02", 0, "52:54:00:68:2c:d5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := MAC(c.name, c.index).String(); got != c.want {
				t.Errorf("MAC(%q, %d) = %s, want %s", c.name, c.index, got, c.want)
			}
		})
	}
}

func TestMACTellsNameAndIndexApart(t *testing.T) {
	t.Parallel()
	if MAC("node1", 1).String() == MAC("node", 11).String() {
		t.Error("name and index run together")
	}
}

func TestMACRarelyRepeats(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for node := range 50 {
		for index := range 4 {
			key := fmt.Sprintf("okd-worker-%02d/%d", node, index)
			mac := MAC(fmt.Sprintf("okd-worker-%02d", node), index).String()
			if other, taken := seen[mac]; taken {
				t.Errorf("%s and %s share %s", key, other, mac)
			}
			seen[mac] = key
		}
	}
}

func TestCanonicalMAC(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"52:54:00:AA:6C:B1", "52-54-00-aa-6c-b1", "5254.00aa.6cb1"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if got, err := CanonicalMAC(text); err != nil || got != "52:54:00:aa:6c:b1" {
				t.Errorf("CanonicalMAC(%q) = %q, %v", text, got, err)
			}
		})
	}
	for _, text := range []string{"", "52:54:00", "02:00:5e:10:00:00:00:01", "not a mac"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if got, err := CanonicalMAC(text); err == nil {
				t.Errorf("CanonicalMAC(%q) = %q, want an error", text, got)
			}
		})
	}
}

func TestVirtualRouterIDMatchesOpenShift(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cluster      string
		api, ingress int
	}{{"vmware", 109, 124}, {"ocp4", 222, 61}, {"cnf10", 147, 2}, {"k8scluster", 109, 124}} {
		t.Run(c.cluster, func(t *testing.T) {
			t.Parallel()
			if got := VirtualRouterID(c.cluster, "api"); got != c.api {
				t.Errorf("%s-api: %d, want %d", c.cluster, got, c.api)
			}
			if got := VirtualRouterID(c.cluster, "ingress"); got != c.ingress {
				t.Errorf("%s-ingress: %d, want %d", c.cluster, got, c.ingress)
			}
		})
	}
}

func TestMaskedVirtualRouterIDMatchesOpenShiftsFirstForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cluster      string
		api, ingress int
	}{{"vmware", 89, 186}, {"ocp4", 29, 126}, {"cnf10", 191, 144}} {
		t.Run(c.cluster, func(t *testing.T) {
			t.Parallel()
			if api, ingress := MaskedVirtualRouterID(c.cluster, "api"), MaskedVirtualRouterID(c.cluster, "ingress"); api != c.api || ingress != c.ingress {
				t.Errorf("%s: %d and %d, want %d and %d", c.cluster, api, ingress, c.api, c.ingress)
			}
		})
	}
}

func TestVirtualRouterIDIsAlwaysValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := VirtualRouterID(rapid.String().Draw(t, "cluster"), rapid.SampledFrom([]string{"api", "ingress"}).Draw(t, "role"))
		if id < 1 || id > 255 {
			t.Fatalf("id %d", id)
		}
	})
}

func TestPodCIDR(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cidr  string
		bits  int
		index int64
		want  string
	}{
		{"10.128.0.0/14", 23, 0, "10.128.0.0/23"},
		{"10.128.0.0/14", 23, 1, "10.128.2.0/23"},
		{"10.128.0.0/14", 23, 511, "10.131.254.0/23"},
		{"10.129.3.7/14", 24, 2, "10.128.2.0/24"},
		{"10.0.0.0/24", 24, 0, "10.0.0.0/24"},
		{"fd01::/48", 64, 65535, "fd01:0:0:ffff::/64"},
		{"::/0", 64, 1 << 62, "4000::/64"},
	} {
		t.Run(c.cidr, func(t *testing.T) {
			t.Parallel()
			got, err := PodCIDR(netip.MustParsePrefix(c.cidr), c.bits, c.index)
			if err != nil || got.String() != c.want {
				t.Errorf("PodCIDR(%s, %d, %d) = %s, %v; want %s", c.cidr, c.bits, c.index, got, err, c.want)
			}
		})
	}
}

func TestPodCIDRRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bits  int
		index int64
	}{{13, 0}, {33, 0}, {23, 512}, {23, -1}} {
		t.Run(fmt.Sprint(c.bits), func(t *testing.T) {
			t.Parallel()
			if got, err := PodCIDR(netip.MustParsePrefix("10.128.0.0/14"), c.bits, c.index); err == nil {
				t.Errorf("PodCIDR(10.128.0.0/14, %d, %d) = %s, want an error", c.bits, c.index, got)
			}
		})
	}
}

func TestPodCIDRsNeverOverlap(t *testing.T) {
	t.Parallel()
	cidr := netip.MustParsePrefix("10.128.0.0/14")
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.IntRange(14, 32).Draw(t, "bits")
		index := rapid.Int64Range(0, 1<<(bits-14)-1)
		a, b := index.Draw(t, "a"), index.Draw(t, "b")
		first, err := PodCIDR(cidr, bits, a)
		if err != nil {
			t.Fatal(err)
		}
		second, err := PodCIDR(cidr, bits, b)
		if err != nil {
			t.Fatal(err)
		}
		if !cidr.Contains(first.Addr()) || (a != b && first.Overlaps(second)) {
			t.Fatalf("%s and %s of %s", first, second, cidr)
		}
	})
}
