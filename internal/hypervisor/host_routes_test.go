package hypervisor

import (
	"net/netip"
	"slices"
	"testing"
)

func TestRoutesAreReadFromTheKernelsTables(t *testing.T) {
	four, err := parseRoutes4([]byte(`Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	FE29130A	0003	0	0	0	00000000	0	0	0
eth0	0029130A	00000000	0001	0	0	0	00FFFFFF	0	0	0
eth0	0000800A	0100000A	0003	0	0	0	0000FCFF	0	0	0
down	0000010A	00000000	0000	0	0	0	00FFFFFF	0	0	0
*	0000000A	00000000	0201	0	0	0	000000FF	0	0	0
`))
	route := func(destination, device, via string) HostRoute {
		r := HostRoute{Destination: netip.MustParsePrefix(destination), Device: device}
		if via != "" {
			r.Via = netip.MustParseAddr(via)
		}
		return r
	}
	want := []HostRoute{route("0.0.0.0/0", "eth0", "10.19.41.254"), route("10.19.41.0/24", "eth0", ""), route("10.128.0.0/14", "eth0", "10.0.0.1")}
	if err != nil || !slices.Equal(four, want) {
		t.Errorf("%v, %v", four, err)
	}
	if _, err := parseRoutes4([]byte("eth0 0029130A 0 1 0 0 0 nonsense")); err == nil {
		t.Error("a broken line was taken")
	}
	six, err := parseRoutes6([]byte(`fd000010000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001 kimgtbr0
fd000020000000000000000000000000 30 00000000000000000000000000000000 00 fd000010000000000000000000000001 00000001 00000001 00000000 00000003 kimgtbr0
fd000030000000000000000000000009 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000400 00000001 00000000 00000001 wg0
fd000010000000000000000000000002 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000002 00000000 80200001 kimgtbr0
fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001 kimgtbr0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
`))
	want = []HostRoute{route("fd00:10::/64", "kimgtbr0", ""), route("fd00:20::/48", "kimgtbr0", "fd00:10::1"), route("fd00:30::9/128", "wg0", ""), route("fe80::/64", "kimgtbr0", "")}
	if err != nil || !slices.Equal(six, want) {
		t.Errorf("%v, %v", six, err)
	}
	if _, err := parseRoutes6([]byte("fd00 40 0 00 nonsense 0 0 0 1 eth0")); err == nil {
		t.Error("a broken line was taken")
	}
}
