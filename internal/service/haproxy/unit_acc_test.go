package haproxy_test

import (
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// The machine lets services open fewer files than the connections take, and a single service may have more.
func TestAccHAProxyGetsTheFilesThatItsConnectionsTake(t *testing.T) {
	s := newSite(t)
	s.run(`systemctl stop haproxy.service; mkdir -p /etc/systemd/system.conf.d
		printf '[Manager]\nDefaultLimitNOFILE=1024:4096\n' >/etc/systemd/system.conf.d/files.conf
		systemctl daemon-reexec`)
	defer s.run("rm -r /etc/systemd/system.conf.d; systemctl daemon-reexec")
	if got := s.run("systemctl show --property=LimitNOFILE --value haproxy.service"); got != "4096" {
		t.Fatalf("haproxy.service may open %s files before", got)
	}
	base := func(maxconn int64) func(transaction.Tree) error {
		return func(tree transaction.Tree) error {
			return haproxy.SetBase(tree, haproxy.Base{Mode: "tcp", Maxconn: maxconn}, owner.Mark{})
		}
	}
	s.commit(base(8000)) // 16041 files
	if got := s.run(`echo "show info" | socat - UNIX-CONNECT:/run/haproxy/admin.sock | sed -n 's/^Maxconn: //p'`); got != "8000" {
		t.Errorf("HAProxy takes %s connections", got)
	}
	s.commit(base(9000))
	s.commit(haproxy.DropBase)
	if got := s.run("ls -d /etc/systemd/system/haproxy.service.d 2>/dev/null; systemctl show --property=LimitNOFILE --value haproxy.service"); got != "4096" {
		t.Errorf("what is left of the drop-in: %s", got)
	}
}
