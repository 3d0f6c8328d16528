package bind_test

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// archive packs the golden files, each content changed by a function.
func archive(t *testing.T, change func(path, content string) string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	root := os.DirFS("testdata/golden/etc/bind")
	err := w.AddFS(root)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	var changed bytes.Buffer
	out := tar.NewWriter(&changed)
	for in := tar.NewReader(&b); ; {
		h, err := in.Next()
		if err != nil {
			break
		}
		var content bytes.Buffer
		if _, err := content.ReadFrom(in); err != nil {
			t.Fatal(err)
		}
		text := change(h.Name, content.String())
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(text))
		}
		if err := out.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(changed.Bytes())
}

// check runs named-checkconf on a service node over the golden files, in a mount namespace of its own. They are of a machine that has
// Debian's default zones, as Debian 12 has and 13 has not.
const check = `set -e
mount -t tmpfs tmpfs /mnt
cp -a /etc/bind/. /mnt
touch /mnt/named.conf.default-zones
echo "$1" | base64 -d | tar -x -C /mnt
mount --bind /mnt /etc/bind
named-checkconf -z`

func TestAccCheckerTakesTheGoldenFilesAndNoBrokenOnes(t *testing.T) {
	acctest.InSandbox(t)
	acctest.ServiceNodes(t, 1)
	for name, c := range map[string]struct{ path, old, broken, words string }{
		"golden": {},
		"zone":   {"virtcluster/zones/internal/okd.example.zone", "10.0.0.250", "10.0.0.256", "bad dotted quad"},
		"conf":   {"named.conf", "recursion no;", "recursoin no;", "unknown option 'recursoin'"},
	} {
		t.Run(name, func(t *testing.T) {
			packed := archive(t, func(path, content string) string {
				if path == c.path {
					return strings.Replace(content, c.old, c.broken, 1)
				}
				return content
			})
			out, err := acctest.Try(t.Context(), "svc-1", "unshare", "--mount", "sh", "-c", check, "sh", packed)
			if refused := err != nil; refused != (c.broken != "") || !strings.Contains(out, c.words) {
				t.Errorf("%s: error %v, %s", name, err, out)
			}
		})
	}
}
