package node

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestAntiSpoofing(t *testing.T) {
	i := &interfaceModel{
		MAC: text("52:54:00:F2:46:A7"), IP: text("10.0.0.100"), IPv6: types.StringNull(), Addresses: textList([]string{"10.19.41.157/24", "fd00::157/64"}),
		AllowedAddresses: textList([]string{"10.19.41.160", "10.128.0.0/14"}),
	}
	got := antiSpoofing("okd-service-01", canonicalMAC(i.MAC.ValueString()), i).xml
	const file = "testdata/filter.xml"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestMarksKeepWhatTheGuestWasTold(t *testing.T) {
	was := interfaceModel{
		Name: text("eth1"), MAC: text("52:54:00:f2:46:a7"), Gateway: text("10.19.41.254"), Addresses: textList([]string{"10.19.41.157/24"}),
		Nameservers: textList([]string{"10.0.0.1", "10.0.0.2"}), AllowedAddresses: textList(nil), Routes: types.ListNull(routeType()),
	}
	is := interfaceModel{MAC: was.MAC}
	unmarkInterface(markInterface(&was), &is)
	if diff := cmp.Diff(was, is); diff != "" {
		t.Error(diff)
	}
}
