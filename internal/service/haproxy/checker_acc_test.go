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

// refusals are what HAProxy says to the golden files that it refuses, and where.
var refusals = map[string]*regexp.Regexp{
	"refused.cfg":        regexp.MustCompile(`unknown option 'httpchkk'.*\n    in backend "api": option httpchkk`),
	"refused-client.cfg": regexp.MustCompile(`ca-file '/nowhere.pem' \(No such file or directory\)`),
}

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
	version, err := s.host.Run(t.Context(), host.Cmd{Argv: []string{"haproxy", "-v"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if filepath.Base(file) == "refused-client.cfg" && !strings.HasPrefix(string(version), "HAProxy version 2.") {
				t.Skip("HAProxy 3.0 says that its own client cannot read the file, and serves without that client")
			}
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
			switch words, broken := refusals[filepath.Base(file)]; {
			case !broken && err != nil:
				t.Error(err)
			case broken && !errors.As(err, &refused):
				t.Errorf("%v is not a refusal", err)
			case broken && !words.MatchString(err.Error()):
				t.Errorf("the refusal does not say what and where: %v", err)
			}
		})
	}
}
