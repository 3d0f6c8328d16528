// Package haproxytest is what the acceptance tests of HAProxy have in common.
package haproxytest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Gateway is the sandbox's own address on the service nodes' network: servers listen there.
const Gateway = "10.0.100.254"

// Node is the id that the sandbox's first service node has: its endpoint with the host key. HAProxy's
// configuration there is what Debian installs, when the test begins and when it has ended.
func Node(t *testing.T) (id, ip string) {
	t.Helper()
	ip = acctest.ServiceNodes(t, 1)[0]
	out, err := exec.Command("sh", "-c", `ssh-keyscan -t ed25519 "$1" 2>/dev/null | ssh-keygen -lf - | cut -d" " -f2`, "sh", ip).Output()
	if err != nil {
		t.Fatalf("ask for the host key of %s: %v", ip, err)
	}
	// A full stop behind the last line shows the blank lines there.
	look := []string{"sh", "-c", "cat /etc/haproxy/haproxy.cfg; echo ."}
	before := acctest.On(t, "svc-1", look...)
	t.Cleanup(func() {
		if after := Cleanup(t, look...); after != before {
			t.Errorf("the distribution's configuration did not come back:\n%s", after)
		}
	})
	return host.ShortenReferences("ssh://root@" + ip + "?host_key=" + strings.TrimSpace(string(out))), ip
}

// Cleanup runs a command on the first service node at the end of a test, when its context is over.
func Cleanup(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := acctest.Try(context.Background(), "svc-1", argv...)
	if err != nil {
		t.Errorf("%s: %v: %s", strings.Join(argv, " "), err, out)
	}
	return out
}

// Serve starts a server that answers with its name, and with 200 or 503 on /readyz as ready says; nil is
// always ready. It returns the port.
func Serve(t *testing.T, name string, ready func() bool) int64 {
	t.Helper()
	l, err := net.Listen("tcp", Gateway+":0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && ready != nil && !ready() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, name)
	})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return int64(l.Addr().(*net.TCPAddr).Port)
}

// GiveBack takes out what a test put, which has no owner, and gives the daemon back; both outlive the test's context.
func GiveBack(t *testing.T, engine *transaction.Engine, h host.Host) {
	t.Helper()
	edit := transaction.Edit{Owner: "the test", Apply: haproxy.Strip, Removes: true}
	err := engine.Commit(context.Background(), h, haproxy.Daemon{}, edit)
	if err == nil {
		_, _, err = engine.GiveBack(context.Background(), h, haproxy.Daemon{})
	}
	if err != nil {
		t.Error(err)
	}
}
