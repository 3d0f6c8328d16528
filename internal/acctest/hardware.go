package acctest

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Hardware is what a node needs to be that of a machine of the sandbox, which runs for as long as the node's domain does: see
// test/sandbox/lib/power.
type Hardware struct {
	// MAC is the hardware address of the node's first interface.
	MAC string
	// UserData has cloud-init give a machine that is made anew the host keys that the one before it had, and let root in by the sandbox's key.
	UserData string
	// HostKey is the machine's SSH host key.
	HostKey string
}

// HardwareOf returns what has a node be the hardware of a machine, such as "svc-1". When the test has ended the machine runs without one again,
// with an empty disk.
func HardwareOf(t *testing.T, machine string) Hardware {
	t.Helper()
	login, err := os.ReadFile(os.Getenv("SANDBOX_SSH_KEY") + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, kind := range []string{"ed25519", "ecdsa"} {
		file := "/etc/ssh/ssh_host_" + kind + "_key"
		keys[kind+"_private"] = On(t, machine, "cat", file) + "\n"
		keys[kind+"_public"] = On(t, machine, "cat", file+".pub")
	}
	config, err := json.Marshal(map[string]any{
		"disable_root": false, "ssh_keys": keys,
		"users": []any{map[string]any{"name": "root", "ssh_authorized_keys": []string{strings.TrimSpace(string(login))}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(os.Getenv("SANDBOX_STATE")+"/nodes/"+machine+"/on", []byte("empty\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		Eventually(t, machine+" does not come back", func() bool {
			out, _ := Try(context.Background(), machine, "systemctl", "is-active", "multi-user.target")
			return strings.TrimSpace(out) == "active"
		})
	})
	return Hardware{MAC: "02:00:0a:00:64:0" + strings.TrimPrefix(machine, "svc-"), UserData: "#cloud-config\n" + string(config) + "\n", HostKey: keys["ed25519_public"]}
}
