package drain_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
)

// serveEchoes starts a server that answers every line with itself, and returns its port.
func serveEchoes(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", haproxytest.Gateway+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); _ = conn.Close() }()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

func TestAccDrain(t *testing.T) {
	acctest.InSandbox(t)
	node, ip := haproxytest.Node(t)
	config := acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_haproxy" "base" {
  service_node = %[1]q
  mode         = "tcp"
}

resource "virtcluster_haproxy_backend" "api" {
  service_node = virtcluster_haproxy.base.service_node
  name         = "api"
  mode         = "tcp"
  servers      = { a = { address = %[2]q, port = %[3]d }, b = { address = "127.0.0.1", port = 1 } }
}

resource "virtcluster_haproxy_frontend" "api" {
  service_node    = virtcluster_haproxy.base.service_node
  name            = "api"
  mode            = "tcp"
  binds           = [{ port = 8080 }]
  default_backend = virtcluster_haproxy_backend.api.name
}

action "virtcluster_drain" "now" {
  config {
    service_nodes = [%[1]q]
    addresses     = [%[2]q]
    timeout       = "2s"
  }
}

action "virtcluster_undrain" "now" {
  config {
    service_nodes = [%[1]q]
    addresses     = [%[2]q]
  }
}
`, node, haproxytest.Gateway, serveEchoes(t))
	s := acctest.NewStateWithActions(t)
	s.DestroyAtEnd()
	s.Apply(config)
	invoke := func(name string) []string {
		return []string{"apply", "-auto-approve", "-invoke=action." + name + ".now"}
	}
	// stateOf is what an operator may have ordered of a server: 0 for nothing, 8 for drain.
	stateOf := func(server string) string {
		return acctest.On(t, "svc-1", "sh", "-c", "echo show servers state api | socat - UNIX-CONNECT:/run/haproxy/admin.sock | awk '$4 == \""+server+"\" { print $7 }'")
	}
	conn, err := net.Dial("tcp", ip+":8080")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	echo := func() {
		t.Helper()
		fmt.Fprintln(conn, "hello")
		if line, err := bufio.NewReader(conn).ReadString('\n'); line != "hello\n" {
			t.Errorf("%q, %v", line, err)
		}
	}
	echo()
	s.Refused([]string{"have not ended in 2s"}, invoke("virtcluster_drain")...)
	if got := stateOf("a") + stateOf("b"); got != "80" {
		t.Errorf("the servers are %s", got)
	}
	echo()
	s.Refused([]string{"no server takes connections there", "have not ended in 2s"}, invoke("virtcluster_drain")...)
	_ = conn.Close()
	if out := s.Run(invoke("virtcluster_drain")...); !strings.Contains(out, "no server takes connections there") {
		t.Errorf("it says\n%s", out)
	}
	if out := s.Run("plan"); !strings.Contains(out, "drain") {
		t.Errorf("a plan does not show the order:\n%s", out)
	}
	if out := s.Run(invoke("virtcluster_undrain")...); !strings.Contains(out, "api/a take connections again") || stateOf("a") != "0" {
		t.Errorf("it is %s:\n%s", stateOf("a"), out)
	}
	s.Settled()
	s.Run(invoke("virtcluster_drain")...)
	s.Run("apply", "-auto-approve")
	if got := stateOf("a"); got != "0" {
		t.Errorf("after an apply it is %s", got)
	}
	s.Settled()
	acctest.On(t, "svc-1", "sh", "-c", "echo set server api/a state maint | socat - UNIX-CONNECT:/run/haproxy/admin.sock")
	s.Run(invoke("virtcluster_drain")...)
	if out := s.Run(invoke("virtcluster_undrain")...); !strings.Contains(out, "no server drains there") || stateOf("a") != "1" {
		t.Errorf("what is off is %s:\n%s", stateOf("a"), out)
	}
}
