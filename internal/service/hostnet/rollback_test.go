package hostnet

import (
	"context"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// A person's file of interfaces may hold the password of a wireless network.
func TestAFileOfAPersonKeepsItsModeAndOwner(t *testing.T) {
	const path = "/etc/network/interfaces"
	h := hosttest.New(host.File{Path: path, Content: []byte(interfaces), Mode: 0o640, Owner: "root", Group: "netdev"})
	h.On(func(_ context.Context, _ *hosttest.Host, cmd host.Cmd) ([]byte, error) {
		if cmd.Name == "look for stanzas" {
			return []byte(path + "\n"), nil
		}
		return nil, nil
	}, "sh")
	configured := []Setup{{Device: "eth1"}}
	for _, step := range []struct {
		from, to []Setup
		want     string
	}{
		{nil, configured, commentOut(interfaces, "eth1")},
		{configured, nil, interfaces},
	} {
		files, err := ifupdown{}.Files(t.Context(), h, step.from, step.to, mark)
		if err != nil {
			t.Fatal(err)
		}
		if err := (Site{Host: h}).make(t.Context(), stateDir+"/test", files); err != nil {
			t.Fatal(err)
		}
		got := h.Files()[path]
		if string(got.Content) != step.want {
			t.Errorf("the file became\n%s", got.Content)
		}
		if got.Mode != 0o640 || got.Owner != "root" || got.Group != "netdev" {
			t.Errorf("it has mode %o and is %s:%s", got.Mode, got.Owner, got.Group)
		}
	}
}
