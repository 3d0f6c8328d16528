package clusterconfig_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/functions/clusterconfig"
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

	servers, err := os.ReadFile(filepath.Join("..", "..", "..", "test", "okd", "servers.py"))
	if err != nil {
		t.Fatal(err)
	}
	put("/root/servers.py", string(servers))
	acctest.On(t, machine, "sh", "-c", "cd /root && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=api -keyout key -out cert 2>/dev/null && cat key cert >cert.pem && rm key cert")
	acctest.On(t, machine, "systemd-run", "--quiet", "--unit=pod-api", "python3", "/root/servers.py", "master")
	acctest.On(t, machine, "systemd-run", "--quiet", "--unit=pod-haproxy", "haproxy", "-W", "-db", "-f", "/etc/haproxy/haproxy.cfg.pod")
	acctest.On(t, machine, "systemd-run", "--quiet", "--unit=pod-keepalived", "keepalived", "--dont-fork", "--vrrp", "--log-console", "--use-file", "/etc/keepalived/keepalived.conf")
}

// The daemons' containers run as their pods have them, by the machine's own init, and heed what a monitor says to them.
func TestAccDaemonsHeedTheirMonitors(t *testing.T) {
	acctest.InSandbox(t)
	acctest.ServiceNodes(t, 1)
	machines, problems := clusterconfig.StaticPods(clusterconfig.MonitorTopology(t))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	files := clusterconfig.FilesOf(t, machines["master-0"])
	put := func(path, contents, mode string) {
		acctest.On(t, "svc-1", "sh", "-c", "mkdir -p $(dirname $1) && echo $2 | base64 -d >$1 && chmod $3 $1", "put", path, base64.StdEncoding.EncodeToString([]byte(contents)), mode)
	}
	// A container has processes of its own; here the oldest of a name could be the service's of a test before.
	served := strings.Fields(acctest.On(t, "svc-1", "sh", "-c", "for unit in haproxy keepalived; do ! systemctl is-active --quiet $unit || echo $unit; done"))
	if len(served) > 0 {
		acctest.On(t, "svc-1", append([]string{"systemctl", "stop"}, served...)...)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if t.Failed() {
			said, _ := acctest.Try(ctx, "svc-1", "journalctl", "--no-pager", "-n", "60", "-u", "monitored-*")
			t.Log(said)
		}
		defer func() {
			if len(served) > 0 {
				_, _ = acctest.Try(ctx, "svc-1", append([]string{"systemctl", "start"}, served...)...)
			}
		}()
		_, _ = acctest.Try(ctx, "svc-1", "sh", "-c", "systemctl stop monitored-keepalived monitored-haproxy; mv /etc/haproxy/haproxy.cfg.package /etc/haproxy/haproxy.cfg; rm -rf /etc/keepalived/* /var/run/keepalived/keepalived.sock /var/run/haproxy/haproxy-master.sock /tmp/stopped")
	})
	acctest.On(t, "svc-1", "sh", "-c", "mv /etc/haproxy/haproxy.cfg /etc/haproxy/haproxy.cfg.package; mkdir -p /var/run/keepalived /var/run/haproxy")
	put("/etc/haproxy/haproxy.cfg", files["/etc/haproxy/haproxy.cfg"], "644")
	// Without a server of the API the check would keep the address away: here it is the address that counts.
	put("/etc/keepalived/chk_ocp.sh", "#!/bin/sh\n", "755")
	put("/etc/keepalived/chk_ingress.sh", "#!/bin/sh\n", "755")
	put("/etc/keepalived/keepalived.conf", files["/etc/keepalived/keepalived.conf"], "600")
	for _, daemon := range []string{"keepalived", "haproxy"} {
		command := clusterconfig.CommandOf(t, files["/etc/kubernetes/manifests/"+daemon+".yaml"])
		acctest.On(t, "svc-1", append([]string{"systemd-run", "--quiet", "--unit=monitored-" + daemon}, command...)...)
	}
	holds := func(address string) bool {
		return strings.Contains(acctest.On(t, "svc-1", "ip", "-o", "-4", "address", "show", "dev", "eth0"), " "+address+"/24 ")
	}
	tell := func(daemon, socket, word string) {
		t.Helper()
		acctest.On(t, "svc-1", "sh", "-c", "echo "+word+" | socat -u - UNIX-CONNECT:/var/run/"+daemon+"/"+socket)
	}
	acctest.Eventually(t, "the machine holds the API's address", func() bool { return holds("10.0.100.240") })

	template := files["/etc/kubernetes/static-pod-resources/keepalived/keepalived.conf.tmpl"]
	put("/etc/keepalived/keepalived.conf", strings.ReplaceAll(clusterconfig.FillTemplate(t, template, "10.0.100.101"), "10.0.100.240", "10.0.100.242"), "600")
	tell("keepalived", "keepalived.sock", "reload")
	acctest.Eventually(t, "another configuration counts once keepalived is told", func() bool { return holds("10.0.100.242") && !holds("10.0.100.240") })
	tell("keepalived", "keepalived.sock", "stop")
	acctest.Eventually(t, "a keepalived that is told to stop holds nothing", func() bool { return !holds("10.0.100.242") })
	tell("keepalived", "keepalived.sock", "reload")
	acctest.Eventually(t, "it begins again when it is told to", func() bool { return holds("10.0.100.242") })
	acctest.On(t, "svc-1", "pkill", "-KILL", "-x", "keepalived")
	acctest.Eventually(t, "the next one begins without the address of one that was killed", func() bool { return !holds("10.0.100.242") })
	acctest.Eventually(t, "it has it once it is the machine's", func() bool { return holds("10.0.100.242") })

	ready := func(port string) bool {
		_, err := acctest.Try(t.Context(), "hypervisor", "curl", "-sf", "--max-time", "5", "http://10.0.100.101:"+port+"/haproxy_ready")
		return err == nil
	}
	acctest.Eventually(t, "HAProxy serves", func() bool { return ready("9444") })
	filled := clusterconfig.FillTemplate(t, files["/etc/kubernetes/static-pod-resources/haproxy/haproxy.cfg.tmpl"], "10.0.100.101")
	put("/etc/haproxy/haproxy.cfg", strings.ReplaceAll(filled, ":9444 ", ":9446 "), "644")
	tell("haproxy", "haproxy-master.sock", "reload")
	acctest.Eventually(t, "another configuration counts once HAProxy is told", func() bool { return ready("9446") && !ready("9444") })

	// A kubelet tells the container's first process alone that it is to end, and kills all of it after half a minute.
	for _, daemon := range []string{"keepalived", "haproxy"} {
		told := time.Now()
		acctest.On(t, "svc-1", "systemctl", "kill", "--kill-who=main", "--signal=TERM", "monitored-"+daemon)
		acctest.Eventually(t, "the container of "+daemon+" ends", func() bool {
			_, err := acctest.Try(t.Context(), "svc-1", "systemctl", "is-active", "--quiet", "monitored-"+daemon)
			return err != nil
		})
		if took := time.Since(told); took > 10*time.Second {
			t.Errorf("the container of %s ended after %s", daemon, took)
		}
	}
	if holds("10.0.100.242") {
		t.Error("keepalived left its address")
	}
}
