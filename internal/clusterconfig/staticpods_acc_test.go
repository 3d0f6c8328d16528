package clusterconfig_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/clusterconfig"
)

// The rendered configurations are taken by the real daemons, which hold the API's address where API server and balancer answer, and
// nowhere else.
func TestAccStaticPodsHoldTheAddressWhereTheAPIAnswers(t *testing.T) {
	acctest.InSandbox(t)
	acctest.ServiceNodes(t, 2)
	machines, problems := clusterconfig.StaticPods(clusterconfig.PodTopology(t))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	names := map[string]string{"svc-1": "master-0", "svc-2": "master-1"}
	for machine, name := range names {
		t.Cleanup(func() {
			ctx := context.WithoutCancel(t.Context())
			if t.Failed() {
				said, _ := acctest.Try(ctx, machine, "journalctl", "--no-pager", "-n", "40", "-u", "pod-*")
				t.Logf("%s: %s", machine, said)
			}
			_, _ = acctest.Try(ctx, machine, "sh", "-c", "systemctl stop pod-keepalived pod-haproxy pod-api; rm -rf /etc/keepalived/* /etc/haproxy/haproxy.cfg.pod /etc/coredns /etc/kubernetes /root/cert.pem /root/servers.py")
		})
		beginPods(t, machine, clusterconfig.FilesOf(t, machines[name]))
	}

	holders := func() []string {
		var all []string
		for _, machine := range []string{"svc-1", "svc-2"} {
			if strings.Contains(acctest.On(t, machine, "ip", "-o", "-4", "address", "show", "dev", "eth0"), " 10.0.100.240/24 ") {
				all = append(all, machine)
			}
		}
		return all
	}
	acctest.Eventually(t, "one machine holds the API's address", func() bool { return len(holders()) == 1 })
	acctest.Eventually(t, "the balancer beside it leads to the API servers", func() bool {
		out, err := acctest.Try(t.Context(), "hypervisor", "curl", "-sfk", "--max-time", "10", "https://10.0.100.240:9445/version")
		return err == nil && strings.Contains(out, "gitVersion")
	})
	first := holders()[0]
	acctest.On(t, first, "systemctl", "stop", "pod-api")
	acctest.Eventually(t, "the address leaves a machine whose API server is gone", func() bool { h := holders(); return len(h) == 1 && h[0] != first })
}

// beginPods puts a machine's files in place and runs what its pods would, after the daemons' own checks, which refuse what is wrong.
func beginPods(t *testing.T, machine string, files map[string]string) {
	t.Helper()
	put := func(path, contents string) {
		acctest.On(t, machine, "sh", "-c", "mkdir -p $(dirname $1) && echo $2 | base64 -d >$1 && chmod $3 $1", "put", path, base64.StdEncoding.EncodeToString([]byte(contents)), map[bool]string{true: "755", false: "600"}[strings.HasSuffix(path, ".sh")])
	}
	// The package's own configuration of HAProxy stays.
	for path, contents := range files {
		put(strings.Replace(path, "/haproxy.cfg", "/haproxy.cfg.pod", 1), contents)
	}
	acctest.On(t, machine, "haproxy", "-c", "-f", "/etc/haproxy/haproxy.cfg.pod")
	acctest.On(t, machine, "keepalived", "--config-test", "--use-file", "/etc/keepalived/keepalived.conf")
	put("/tmp/wrong", strings.Replace(files["/etc/keepalived/keepalived.conf"], "virtual_router_id", "virtual_rooter_id", 1))
	if out, err := acctest.Try(t.Context(), machine, "keepalived", "--config-test", "--use-file", "/tmp/wrong"); err == nil {
		t.Errorf("keepalived takes a wrong word: %s", out)
	}

	servers, err := os.ReadFile(filepath.Join("..", "..", "test", "okd", "servers.py"))
	if err != nil {
		t.Fatal(err)
	}
	put("/root/servers.py", string(servers))
	acctest.On(t, machine, "sh", "-c", "cd /root && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=api -keyout key -out cert 2>/dev/null && cat key cert >cert.pem && rm key cert")
	acctest.On(t, machine, "systemd-run", "--quiet", "--unit=pod-api", "python3", "/root/servers.py", "master")
	acctest.On(t, machine, "systemd-run", "--quiet", "--unit=pod-haproxy", "haproxy", "-W", "-db", "-f", "/etc/haproxy/haproxy.cfg.pod")
	acctest.On(t, machine, "systemd-run", "--quiet", "--unit=pod-keepalived", "keepalived", "--dont-fork", "--vrrp", "--log-console", "--use-file", "/etc/keepalived/keepalived.conf")
}
