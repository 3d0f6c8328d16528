package kubeconfig_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// key is what must be nowhere but on the master and where the configuration puts it.
const key = "the-key-of-the-administrator"

// file is a kubeconfig as k3s writes it.
var file = fmt.Sprintf(`apiVersion: v1
clusters:
- cluster: { certificate-authority-data: %[1]s, server: https://127.0.0.1:6443 }
  name: default
contexts:
- context: { cluster: default, user: default }
  name: default
current-context: default
users:
- name: default
  user: { client-certificate-data: %[1]s, client-key-data: %[2]s }
`, base64.StdEncoding.EncodeToString([]byte("cert")), base64.StdEncoding.EncodeToString([]byte(key)))

// uses hands what is read to a command, which is run when n changes.
func uses(node, settings string, n int) string {
	return acctest.Provider() + fmt.Sprintf(`
ephemeral "virtcluster_kubeconfig" "it" {
  endpoint = "ssh://root@%s"
%s
}
resource "terraform_data" "user" {
  triggers_replace = %d
  provisioner "local-exec" {
    command     = "printf %%s \"$KUBECONFIG_TEXT\" >kubeconfig; printf %%s \"$KEY at $HOST\" >key"
    environment = {
      KUBECONFIG_TEXT = ephemeral.virtcluster_kubeconfig.it.kubeconfig
      KEY             = ephemeral.virtcluster_kubeconfig.it.client_key
      HOST            = ephemeral.virtcluster_kubeconfig.it.host
    }
  }
}
`, node, settings, n)
}

func TestAccKubeconfig(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	const place = "/etc/rancher/k3s/k3s.yaml"
	remove := func() {
		if out, err := acctest.Try(context.Background(), "svc-1", "rm", "-rf", "/etc/rancher"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	t.Cleanup(remove)
	write := func(text string) error {
		_, err := acctest.Try(context.Background(), "svc-1", "sh", "-c", `mkdir -p "${1%/*}"; umask 077; printf %s "$2" >"$1"`, "sh", place, text)
		return err
	}
	s := acctest.NewState(t)
	got := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(s.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	s.Write(uses(node, `  timeout = "2s"`, 1))
	s.Refused([]string{"Cannot open kubeconfig of ssh://root@" + node, "has no kubeconfig", "`timeout` is 2s"}, "plan")
	s.Write(uses(node, `  timeout = "0s"`, 1))
	s.Refused([]string{"Invalid duration"}, "plan")
	s.Write(uses(node, `  server = "http://a"`, 1))
	s.Refused([]string{"Invalid URL", "https"}, "plan")

	// An installer is at it: the file comes, cut off at first.
	written := make(chan error, 1)
	go func() {
		time.Sleep(3 * time.Second)
		if err := write(file[:len(file)/2]); err != nil {
			written <- err
			return
		}
		time.Sleep(2 * time.Second)
		written <- write(file)
	}()
	const server = "https://api.okd.example:6443"
	s.Apply(uses(node, fmt.Sprintf("  server = %q", server), 1))
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if text := got("kubeconfig"); !strings.Contains(text, server) || strings.Contains(text, "127.0.0.1") {
		t.Errorf("the command got:\n%s", text)
	}
	if text := got("key"); text != key+" at "+server {
		t.Errorf("the command got %q", text)
	}
	s.Settled()
	// Without the server it works on the master alone, which is said.
	s.Write(uses(node, "", 2))
	if out := s.Run("apply", "-auto-approve"); !strings.Contains(out, "works on the master alone") || !strings.Contains(got("kubeconfig"), "127.0.0.1") {
		t.Errorf("a server that is the master itself:\n%s", out)
	}
	// Where something that is made first is named, the plan asks nobody.
	remove()
	after := strings.Replace(uses(node, "  after = terraform_data.cluster.id\n  timeout = \"1s\"", 3), "ephemeral \"", "resource \"terraform_data\" \"cluster\" {}\nephemeral \"", 1)
	s.Write(after)
	s.Run("plan")
	s.Refused([]string{"has no kubeconfig"}, "apply", "-auto-approve")
	// Offline nothing is read.
	s.Write(strings.Replace(uses(node, "", 2), "provider \"virtcluster\" {", "provider \"virtcluster\" {\n  offline = true", 1))
	s.Run("plan")

	for _, secret := range []string{key, base64.StdEncoding.EncodeToString([]byte(key))} {
		for _, name := range []string{"terraform.tfstate", "terraform.tfstate.backup"} {
			if strings.Contains(got(name), secret) {
				t.Errorf("the key is in %s", name)
			}
		}
	}
}
