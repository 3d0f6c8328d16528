package network_test

import (
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/miekg/dns"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// nameServer is a DNS server on an address of the hypervisor, which answers every question with one address.
type nameServer struct {
	mu    sync.Mutex
	asked []string
}

func serveNames(t *testing.T, at, answer string) *nameServer {
	t.Helper()
	shell(t, "ip", "address", "add", at+"/32", "dev", "lo")
	t.Cleanup(func() { _ = exec.Command("ip", "address", "del", at+"/32", "dev", "lo").Run() })
	packets, err := net.ListenPacket("udp", net.JoinHostPort(at, "53"))
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{}
	server := &dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		s.mu.Lock()
		s.asked = append(s.asked, q.Question[0].Name)
		s.mu.Unlock()
		reply := new(dns.Msg)
		reply.SetReply(q)
		reply.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1}, A: net.ParseIP(answer)}}
		_ = w.WriteMsg(reply)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = packets.Close(); <-done })
	return s
}

// was lists what the server was asked since the last time, each once.
func (s *nameServer) was() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	slices.Sort(asked)
	return slices.Compact(asked)
}

// dig asks the network's own DNS server.
func dig(t *testing.T, question ...string) string {
	t.Helper()
	return strings.Join(strings.Fields(shell(t, append([]string{"dig", "+short", "+time=5", "+tries=2", "@10.91.0.254"}, question...)...)), " ")
}

// answers checks what a question gets; dnsmasq takes a live change a moment after libvirt has said it is done.
func answers(t *testing.T, want string, question ...string) {
	t.Helper()
	var got string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if got = dig(t, question...); got == want {
			return
		}
	}
	t.Errorf("%s: %q instead of %q", strings.Join(question, " "), got, want)
}

func TestAccNetworkAnswersQuestionsAboutNames(t *testing.T) {
	acctest.InSandbox(t)
	corp, others := serveNames(t, "192.0.2.53", "192.0.2.153"), serveNames(t, "192.0.2.54", "192.0.2.154")
	asked := func(wantCorp, wantOthers string) {
		t.Helper()
		if a, b := strings.Join(corp.was(), " "), strings.Join(others.was(), " "); a != wantCorp || b != wantOthers {
			t.Errorf("the domain's server was asked for %q, the other for %q, instead of %q and %q", a, b, wantCorp, wantOthers)
		}
	}
	names := func(hosts string) string {
		return config(management + `
  domain = "okd.example"
  dns = {
    local_only = true
    forwarders = [{ domain = "corp.example", address = "192.0.2.53" }, { address = "192.0.2.54" }, { domain = "lab.corp.example" }]
    hosts      = { ` + hosts + ` }
  }
`)
	}
	var bridge string
	test(t, "acc0",
		resource.TestStep{Config: names(`"10.91.0.250" = ["api", "api-int"]`), Check: func(*terraform.State) error {
			bridge = shell(t, "cat", "/sys/class/net/accbr0/ifindex")
			answers(t, "192.0.2.153", "db.corp.example")
			asked("db.corp.example.", "")
			answers(t, "192.0.2.154", "www.example.net")
			answers(t, "192.0.2.154", "www.notcorp.example")
			answers(t, "192.0.2.154", "db.lab.corp.example") // an exception from its domain
			asked("", "db.lab.corp.example. www.example.net. www.notcorp.example.")
			answers(t, "", "nobody.okd.example") // local_only
			for _, name := range []string{"api.okd.example", "api-int.okd.example", "api-int"} {
				answers(t, "10.91.0.250", name)
			}
			if name := dig(t, "-x", "10.91.0.250"); !strings.HasPrefix(name, "api.") {
				t.Errorf("10.91.0.250 is %q", name)
			}
			asked("", "")
			return nil
		}},
		resource.TestStep{Config: names(`"10.91.0.251" = ["api"], "10.91.0.9" = ["nine"]`), ConfigPlanChecks: inPlace, Check: func(*terraform.State) error {
			answers(t, "10.91.0.251", "api.okd.example")
			answers(t, "10.91.0.9", "nine.okd.example")
			answers(t, "", "api-int.okd.example")
			if after := shell(t, "cat", "/sys/class/net/accbr0/ifindex"); after != bridge {
				t.Error("the network was restarted for a record")
			}
			return nil
		}},
		resource.TestStep{Config: strings.NewReplacer(`{ domain = "corp.example", address = "192.0.2.53" }, `, "", "local_only = true", "local_only = false").Replace(names("")), ConfigPlanChecks: inPlace, Check: func(*terraform.State) error {
			asked("", "")
			answers(t, "192.0.2.154", "db.corp.example")
			answers(t, "192.0.2.154", "nobody.okd.example")
			asked("", "db.corp.example. nobody.okd.example.")
			return nil
		}},
	)
}
