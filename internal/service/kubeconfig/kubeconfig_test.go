package kubeconfig

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// admin is what kubeadm writes.
func admin() string {
	return `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ` + encoded("CA") + `
    server: https://10.0.0.11:6443
  name: kubernetes
contexts:
- context:
    cluster: kubernetes
    user: kubernetes-admin
  name: kubernetes-admin@kubernetes
current-context: kubernetes-admin@kubernetes
kind: Config
preferences: {}
users:
- name: kubernetes-admin
  user:
    client-certificate-data: ` + encoded("CERT") + `
    client-key-data: ` + encoded("KEY") + `
`
}

func TestReadTakesTheFirstThatIsThere(t *testing.T) {
	t.Parallel()
	h := hosttest.New()
	if _, err := Read(t.Context(), h, KnownPaths, ""); !errors.As(err, new(*NotThereError)) {
		t.Errorf("of a machine without one it says %v", err)
	}
	if err := h.Write(t.Context(), host.File{Path: "/etc/rancher/k3s/k3s.yaml", Content: []byte(strings.ReplaceAll(admin(), "10.0.0.11", "127.0.0.1"))}); err != nil {
		t.Fatal(err)
	}
	got, err := Read(t.Context(), h, KnownPaths, "")
	if err != nil || got.Server != "https://127.0.0.1:6443" || !got.MeansItself() {
		t.Errorf("%+v, %v", got, err)
	}
	if err := h.Write(t.Context(), host.File{Path: "/etc/kubernetes/admin.conf", Content: []byte(admin())}); err != nil {
		t.Fatal(err)
	}
	got, err = Read(t.Context(), h, KnownPaths, "")
	want := Config{Text: admin(), Server: "https://10.0.0.11:6443", CACertificate: "CA", ClientCertificate: "CERT", ClientKey: "KEY"}
	if err != nil || got != want || got.MeansItself() {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestReplacedServerIsAllThatDiffers(t *testing.T) {
	t.Parallel()
	got, err := parseKubeconfig([]byte(admin()), "https://api.okd.example:6443")
	if err != nil {
		t.Fatal(err)
	}
	again, err := parseKubeconfig([]byte(got.Text), "")
	if err != nil || again != got || got.Server != "https://api.okd.example:6443" || strings.Contains(got.Text, "10.0.0.11") {
		t.Errorf("%v\n%s", err, got.Text)
	}
	back, err := parseKubeconfig([]byte(got.Text), "https://10.0.0.11:6443")
	if err != nil || strings.ReplaceAll(back.Text, "  - ", "- ") == "" || back.ClientKey != "KEY" {
		t.Errorf("%v\n%s", err, back.Text)
	}
}

func TestWhatIsNoKubeconfigIsRefusedWithoutItsContents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"empty":             {"", "no kubeconfig"},
		"cut off":           {admin()[:len(admin())/2], "no user"},
		"no YAML":           {"a: [KEY", "no YAML"},
		"another document":  {"clusters: KEY\n", "not those of one"},
		"another context":   {strings.Replace(admin(), "current-context: kubernetes", "current-context: other", 1), "other-admin@kubernetes"},
		"a file":            {strings.Replace(admin(), "client-key-data: "+encoded("KEY"), "client-key: /var/lib/KEY", 1), "client-key is something that the machine alone has"},
		"a command":         {strings.Replace(admin(), "client-key-data: "+encoded("KEY"), "exec: { command: KEY }", 1), "exec is something"},
		"no base64":         {strings.Replace(admin(), encoded("KEY"), "=KEY=", 1), "client-key-data is no base64"},
		"nothing to log in": {strings.Replace(admin(), "client-key-data", "nothing", 1), "neither a token"},
		"too long":          {strings.Repeat("KEY", maxSize), "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parseKubeconfig([]byte(c.text), "")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("it says %v, and not %q", err, c.want)
			}
			if strings.Contains(err.Error(), "KEY") {
				t.Errorf("it tells the key: %v", err)
			}
		})
	}
}

func TestATokenIsEnough(t *testing.T) {
	t.Parallel()
	text := strings.Replace(strings.Replace(admin(), "client-key-data: "+encoded("KEY"), "token: abc", 1), "client-certificate-data: "+encoded("CERT"), "username: x", 1)
	got, err := parseKubeconfig([]byte(text), "")
	if err != nil || got.Token != "abc" {
		t.Errorf("%+v, %v", got, err)
	}
}
