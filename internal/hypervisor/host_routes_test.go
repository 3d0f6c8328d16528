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
`))
	want := []HostRoute{{netip.MustParsePrefix("10.19.41.0/24"), "eth0", true}, {netip.MustParsePrefix("10.128.0.0/14"), "eth0", false}}
	if err != nil || !slices.Equal(four, want) {
		t.Errorf("%v, %v", four, err)
	}
	if _, err := parseRoutes4([]byte("eth0 0029130A 0 1 0 0 0 nonsense")); err == nil {
		t.Error("a broken line was taken")
	}
	six, err := parseRoutes6([]byte(`fd000010000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001 kimgtbr0
fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001 kimgtbr0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
`))
	if err != nil || !slices.Equal(six, []HostRoute{{netip.MustParsePrefix("fd00:10::/64"), "kimgtbr0", true}}) {
		t.Errorf("%v, %v", six, err)
	}
}
