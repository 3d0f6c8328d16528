package acctest

import "testing"

// What one test leaves to a manager the next one can leave to it again, on the same machine.
func TestAccInterfaceIsLeftToAManagerAgain(t *testing.T) {
	InSandbox(t)
	before := NetworkOf(t, "svc-1")
	for _, backend := range []string{"ifupdown", "ifupdown"} {
		t.Run(backend, func(t *testing.T) { LeaveToManager(t, "svc-1", backend) })
		if after := NetworkOf(t, "svc-1"); after != before {
			t.Fatalf("%s left\n%s\nbefore:\n%s", backend, after, before)
		}
	}
}
