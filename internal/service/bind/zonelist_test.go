package bind

import (
	"slices"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func TestListZonesHasThoseOfPeopleToo(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	tree.Put("/etc/bind/named.conf", []byte(`view "internal" {
	match-clients { any; };
	zone "OKD.example" { type primary; file "/etc/bind/okd"; };
	zone "0.0.10.in-addr.arpa" { type primary; file "/etc/bind/rev"; };
};
view "external" {
	zone "okd.example" { type primary; file "/etc/bind/okd2"; };
};
`), 0o644, "root", "bind")
	got, err := ListZones(tree)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, z := range got {
		names = append(names, z.View+"/"+z.Name)
	}
	if want := []string{"internal/okd.example", "internal/0.0.10.in-addr.arpa", "external/okd.example"}; !slices.Equal(names, want) {
		t.Errorf("listed are %q, want %q", names, want)
	}
	if none, err := ListZones(transaction.Tree{}); err != nil || len(none) > 0 {
		t.Errorf("of no configuration: %v, %v", none, err)
	}
}
