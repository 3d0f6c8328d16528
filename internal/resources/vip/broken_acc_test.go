package vip_test

import (
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccAVIPMovesToAnotherMachineAndAddressAtOnce changes who holds a VIP and which address it is in one apply.
func TestAccAVIPMovesToAnotherMachineAndAddressAtOnce(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	ids := machines(t, 2)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(vip(ids[:1], "10.0.100.250/24", ""))
	comesTo(t, "10.0.100.250", "svc-1")
	s.Apply(strings.ReplaceAll(vip(ids[1:], "10.0.100.249/24", ""), "svc-1 =", "svc-2 ="))
	s.Settled()
	comesTo(t, "10.0.100.249", "svc-2")
	for _, machine := range []string{"svc-1", "svc-2"} {
		if left := acctest.On(t, machine, "sh", "-c", "ip -brief address show | grep -F 10.0.100.250 || :"); left != "" {
			t.Errorf("the former address is on %s:\n%s", machine, left)
		}
	}
}

// TestAccAMemberThatCouldNotBeRemovedIsNotForgotten moves a VIP from one machine to another where the first one's files cannot be written:
// the new member is made by then, and the old one holds the addresses still.
func TestAccAMemberThatCouldNotBeRemovedIsNotForgotten(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	ids := machines(t, 2)
	const file = "/etc/keepalived/keepalived.conf"
	from := vip(ids[:1], "10.0.100.250/24", "")
	to := strings.ReplaceAll(vip(ids[1:], "10.0.100.249/24", ""), "svc-1 =", "svc-2 =")
	for name, end := range map[string]func(s *acctest.State){
		"the next apply removes it": func(s *acctest.State) {
			s.Apply(to)
			s.Settled()
			comesTo(t, "10.0.100.249", "svc-2")
		},
		"a destroy removes it": func(*acctest.State) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := acctest.NewState(t)
			s.DestroyAtEnd()
			s.Apply(from)
			comesTo(t, "10.0.100.250", "svc-1")
			acctest.On(t, "svc-1", "chattr", "+i", file)
			s.Write(to)
			out, err := s.Try("apply", "-auto-approve")
			acctest.On(t, "svc-1", "chattr", "-i", file)
			if err == nil {
				t.Fatalf("a file that cannot be written was changed:\n%s", out)
			}
			if shown := s.Run("state", "show", test); !strings.Contains(shown, ids[0]) {
				t.Errorf("the state forgets a member that is there:\n%s", shown)
			}
			end(s)
			s.Run("destroy", "-auto-approve")
			if left := acctest.On(t, "svc-1", "sh", "-c", "grep -s vmware-api "+file+"; ip -brief address show | grep -F 10.0.100.25 || :"); left != "" {
				t.Errorf("it is left on the machine:\n%s", left)
			}
		})
	}
}
