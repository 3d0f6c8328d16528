package haproxy_test

import (
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func TestTheUnitMayOpenFilesForTheConnectionsOfTheBase(t *testing.T) {
	tree := transaction.Tree{}
	for _, c := range []struct {
		maxconn int64
		want    string // "" where there is no drop-in
	}{
		{20000, "\nLimitNOFILE=1024:524288\n"},
		{400000, "\nLimitNOFILE=1024:865536\n"},
		{0, ""},
		{1, "\nLimitNOFILE=1024:524288\n"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if err := haproxy.SetBase(tree, haproxy.Base{Mode: "tcp", Maxconn: c.maxconn}, owner.Mark{}); err != nil {
				t.Fatal(err)
			}
			if got, ok := tree[haproxy.UnitPath]; ok != (c.want != "") || !strings.Contains(string(got.Content), c.want) {
				t.Errorf("maxconn %d: the drop-in is %q", c.maxconn, got.Content)
			}
		})
	}
	if err := haproxy.DropBase(tree); err != nil {
		t.Fatal(err)
	}
	if f, ok := tree[haproxy.UnitPath]; ok {
		t.Errorf("the drop-in stays: %q", f.Content)
	}
}

func TestAPersonsConnectionsMakeNoDropIn(t *testing.T) {
	tree := transaction.Tree{haproxy.ConfigPath: host.File{Path: haproxy.ConfigPath, Content: []byte("global\n\tmaxconn 400000\n")}}
	if err := haproxy.SetProxy(tree, haproxy.Backend{Name: "b", Mode: "tcp"}, owner.Mark{}); err != nil {
		t.Fatal(err)
	}
	if _, ok := tree[haproxy.UnitPath]; ok {
		t.Error("there is a drop-in")
	}
}
