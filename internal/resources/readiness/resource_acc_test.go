package readiness_test

import (
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func config(body string) string {
	return acctest.Provider() + "resource \"virtcluster_readiness\" \"api\" {\n" + body + "\n}\n"
}

func TestAccReadinessIsAskedFromAMachine(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	from := fmt.Sprintf("from = %q\n", "ssh://root@"+node)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config(`tcp = "10.0.0.1"`), PlanOnly: true, ExpectError: regexp.MustCompile("write HOST:PORT")},
			{Config: config("url = \"http://a\"\ntcp = \"a:1\""), PlanOnly: true, ExpectError: regexp.MustCompile("Invalid Attribute Combination")},
			{Config: config("tcp = \"a:1\"\ntimeout = \"0s\""), PlanOnly: true, ExpectError: regexp.MustCompile("Invalid duration")},
			{Config: config("tcp = \"127.0.0.1:1\"\ninterval = \"100ms\"\ntimeout = \"1s\"\n" + from), ExpectError: regexp.MustCompile(`(?s)is not ready\s+after 1s:.*refused`)},
			{Config: config("dns = \"localhost\"\nexpect = { addresses = [\"10.9.9.9\"] }\ninterval = \"100ms\"\ntimeout = \"1s\"\n" + from), ExpectError: regexp.MustCompile(`not\s+10.9.9.9`)},
			{Config: config("tcp = \"127.0.0.1:22\"\n" + from), Check: resource.TestCheckResourceAttr("virtcluster_readiness.api", "answer", "connected")},
			{ResourceName: "virtcluster_readiness.api", ImportState: true, ImportStateVerify: true},
			{Config: config("dns = \"localhost\"\n" + from), Check: resource.TestCheckResourceAttrSet("virtcluster_readiness.api", "answer")},
		},
	})
}

// TestAccReadinessHoldsBackWhatGoesAfterIt removes what a readiness depends on, and what is changed meanwhile, before it is ready.
func TestAccReadinessHoldsBackWhatGoesAfterIt(t *testing.T) {
	acctest.InSandbox(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	cluster := func(bootstrap int) string {
		return fmt.Sprintf(`
resource "terraform_data" "bootstrap" {
  count = %[1]d
}
resource "virtcluster_readiness" "masters" {
  count      = %[1]d
  tcp        = %[2]q
  when       = "destroy"
  interval   = "100ms"
  timeout    = "1s"
  depends_on = [terraform_data.bootstrap]
}
resource "terraform_data" "balancer" {
  input      = %[1]d
  depends_on = [virtcluster_readiness.masters]
}
`, bootstrap, address)
	}
	s := acctest.NewState(t)
	s.Apply(acctest.Provider() + cluster(1))
	s.Settled()
	// That another machine is to ask is no reason to ask.
	s.Apply(acctest.Provider() + strings.Replace(cluster(1), "  when ", fmt.Sprintf("  from = \"ssh://root@%s\"\n  when ", acctest.KnownServiceNodes(t, 1)[0]), 1))
	s.Settled()
	s.Apply(acctest.Provider() + cluster(1))
	s.Write(acctest.Provider() + cluster(0))
	s.Refused([]string{"not ready after 1s"}, "apply", "-auto-approve")
	if left := s.Run("state", "list"); !strings.Contains(left, "terraform_data.bootstrap[0]") || !strings.Contains(left, "virtcluster_readiness.masters[0]") {
		t.Errorf("of what waits, this is left:\n%s", left)
	}
	if shown := s.Run("state", "show", "terraform_data.balancer"); !strings.Contains(shown, "= 1") {
		t.Errorf("what waits was changed:\n%s", shown)
	}
	// Who gives up waiting says so of what stays, and the rest goes meanwhile.
	s.Apply(acctest.Provider() + strings.NewReplacer(`"destroy"`, `"never"`, "  count = 1", "  count = 0").Replace(cluster(1)))
	s.Settled()
	if left := s.Run("state", "list"); strings.Contains(left, "terraform_data.bootstrap") {
		t.Errorf("once waiting was given up, this is left:\n%s", left)
	}
	s.Apply(acctest.Provider() + cluster(0))
	// Who never waited has nothing to give up.
	s.Apply(acctest.Provider() + strings.Replace(cluster(1), `"destroy"`, `"never"`, 1))
	s.Apply(acctest.Provider() + cluster(0))
	s.Apply(acctest.Provider() + cluster(1))
	s.Run("destroy", "-auto-approve") // of everything: nothing is asked
	s.Apply(acctest.Provider() + cluster(1))
	if listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	s.Apply(acctest.Provider() + cluster(0))
	if left := s.Run("state", "list"); strings.Contains(left, "bootstrap") {
		t.Errorf("once it is ready, this is left:\n%s", left)
	}
}

func TestAccReadinessWaitsForAServer(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	// The way to the machine says which of this computer's addresses the machine can ask.
	conn, err := net.Dial("udp", net.JoinHostPort(node, "9"))
	if err != nil {
		t.Fatal(err)
	}
	here, _, _ := net.SplitHostPort(conn.LocalAddr().String())
	_ = conn.Close()
	for name, from := range map[string]string{"here": "", "there": fmt.Sprintf("from = %q\n", "ssh://root@"+node)} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", net.JoinHostPort(here, "0"))
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if time.Since(began) < 4*time.Second {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
				_, _ = w.Write([]byte("ok: ready\n"))
			})}
			go func() { _ = server.Serve(listener) }()
			t.Cleanup(func() { _ = server.Close() })
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Providers,
				Steps: []resource.TestStep{
					{
						Config:      config(fmt.Sprintf("url = \"http://%s/readyz\"\nexpect = { body = \"never\" }\ninterval = \"200ms\"\ntimeout = \"1s\"\n%s", listener.Addr(), from)),
						ExpectError: regexp.MustCompile(`(?s)it answers\s+503\s+Service\s+Unavailable:\s+ok:\s+ready`),
					},
					{
						Config: config(fmt.Sprintf("url = \"http://%s/readyz\"\nexpect = { body = \"^ok: ready\" }\ninterval = \"200ms\"\ntimeout = \"30s\"\n%s", listener.Addr(), from)),
						Check:  resource.TestCheckResourceAttr("virtcluster_readiness.api", "answer", "200 OK"),
					},
				},
			})
		})
	}
}
