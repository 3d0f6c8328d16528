package hypervisor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

// sandbox skips a test that needs a real libvirtd, unless it runs inside the sandbox.
func sandbox(t *testing.T) *Client {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("needs TF_ACC=1 inside test/sandbox/enter")
	}
	c, err := New("qemu:///system", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func shell(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

func TestAccManyNetworksAtATimeHaveBridgesOfTheirOwn(t *testing.T) {
	c := sandbox(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			name := fmt.Sprintf("acc-many%d", i)
			if _, err := c.DefineNetwork(t.Context(), name, "<network><name>"+name+"</name></network>"); err != nil {
				t.Error(err)
			}
			t.Cleanup(func() {
				if err := c.UndefineNetwork(context.WithoutCancel(t.Context()), name); err != nil {
					t.Error(err)
				}
			})
		})
	}
	all.Wait()
	networks, err := c.Networks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	holder := map[string]string{}
	for _, n := range networks {
		if other := holder[n.Bridge()]; other != "" {
			t.Errorf("%s and %s have the bridge %s", other, n.Name, n.Bridge())
		}
		holder[n.Bridge()] = n.Name
	}
}

func TestAccUnknownNetworkIsNotFound(t *testing.T) {
	c := sandbox(t)
	for _, ref := range []string{"no-such-network", "00000000-1111-2222-3333-444444444444"} {
		if _, err := c.Network(t.Context(), ref); !IsNotFound(err) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}
