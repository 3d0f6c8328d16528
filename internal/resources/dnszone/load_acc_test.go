package dnszone_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/miekg/dns"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// load asks 200 questions a second until it is stopped, and counts those without an answer.
type load struct {
	stop         chan struct{}
	wait         sync.WaitGroup
	mu           sync.Mutex
	asked, wrong int
	first        string
}

func startLoad(server, name string) *load {
	l := &load{stop: make(chan struct{})}
	l.wait.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-l.stop:
				return
			case <-tick.C:
				l.wait.Go(func() { l.ask(server, name) })
			}
		}
	})
	return l
}

func (l *load) ask(server, name string) {
	msg := new(dns.Msg)
	msg.SetQuestion(name, dns.TypeA)
	client := &dns.Client{Timeout: 5 * time.Second}
	reply, _, err := client.Exchange(msg, server)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	if err != nil || len(reply.Answer) == 0 {
		l.wrong++
		if l.first == "" {
			l.first = fmt.Sprint(err, reply)
		}
	}
}

func TestAccEveryQuestionIsAnsweredThroughReloads(t *testing.T) {
	acctest.InSandbox(t)
	config := func(n int) string {
		return views(t) + zone("internal", fmt.Sprintf(`api = { A = ["10.0.0.250"] }, changing = { A = ["10.0.1.%d"] }`, n))
	}
	var l *load
	steps := []resource.TestStep{{Config: config(0)}}
	for n := 1; n <= 3; n++ {
		steps = append(steps, resource.TestStep{
			Config: config(n),
			PreConfig: func() {
				if l == nil {
					l = startLoad(acctest.ServiceNodes(t, 1)[0]+":53", "api.okd.example.")
				}
			},
			Check: answers(t, "hypervisor", fmt.Sprintf("10.0.1.%d", n), "changing.okd.example"),
		})
	}
	// A new zone is loaded by a reconfiguration, not by a reload.
	steps = append(steps, resource.TestStep{
		Config: config(3) + reverse,
		Check: func(*terraform.State) error {
			close(l.stop)
			l.wait.Wait()
			if l.wrong > 0 || l.asked < 100 {
				return fmt.Errorf("%d of %d questions got no answer, the first: %s", l.wrong, l.asked, l.first)
			}
			t.Logf("%d questions, all answered", l.asked)
			return nil
		},
	})
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, Steps: steps})
}
