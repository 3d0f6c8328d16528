package haproxy_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func TestAccHAProxyTakesTheGoldenFiles(t *testing.T) {
	s := newSite(t)
	makeCertificate := `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=test -days 2 -keyout /tmp/key.pem -out /tmp/crt.pem 2>/dev/null &&
		cat /tmp/crt.pem /tmp/key.pem > /etc/haproxy/site.pem`
	if _, err := s.host.Run(t.Context(), host.Cmd{Argv: []string{"sh", "-c", makeCertificate}}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/golden/*.cfg")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			next := transaction.Tree{}
			next.Put(haproxy.ConfigPath, content, 0o644, "", "")
			stage := "/tmp/stage"
			if err := s.host.Write(t.Context(), host.File{Path: stage + haproxy.ConfigPath, Content: content}); err != nil {
				t.Fatal(err)
			}
			err = haproxy.Daemon{}.Check(t.Context(), s.host, stage, next)
			var refused *transaction.RefusedError
			switch broken := strings.HasPrefix(filepath.Base(file), "refused"); {
			case !broken && err != nil:
				t.Error(err)
			case broken && !errors.As(err, &refused):
				t.Errorf("%v is not a refusal", err)
			case broken && !regexp.MustCompile(`unknown option 'httpchkk'.*\n    in backend "api": option httpchkk`).MatchString(err.Error()):
				t.Errorf("the refusal does not say where: %v", err)
			}
		})
	}
}
