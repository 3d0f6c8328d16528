package selfbinary

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
)

// goreleaser is what the names of a release's files follow from.
type goreleaser struct {
	Project string `yaml:"project_name"`
	Builds  []struct {
		Systems    []string `yaml:"goos"`
		Processors []string `yaml:"goarch"`
		Binary     string   `yaml:"binary"`
	} `yaml:"builds"`
	Archives []struct {
		Formats []string `yaml:"formats"`
		Name    string   `yaml:"name_template"`
	} `yaml:"archives"`
	Checksum struct {
		Name      string `yaml:"name_template"`
		Algorithm string `yaml:"algorithm"`
	} `yaml:"checksum"`
}

// TestTheFilesOfAReleaseAreNamedAsGoreleaserNamesThem reads .goreleaser.yml, and go.mod for where the releases are.
func TestTheFilesOfAReleaseAreNamedAsGoreleaserNamesThem(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../.goreleaser.yml")
	if err != nil {
		t.Fatal(err)
	}
	var c goreleaser
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Builds) != 1 || len(c.Archives) != 1 || c.Checksum.Algorithm != "sha256" || strings.Join(c.Archives[0].Formats, " ") != "zip" {
		t.Fatalf("what is released is another thing now: %+v", c)
	}
	render := func(form, system, processor string) string {
		t.Helper()
		var name strings.Builder
		if err := template.Must(template.New("").Parse(form)).Execute(&name, map[string]string{"ProjectName": c.Project, "Version": "1.2.3", "Os": system, "Arch": processor}); err != nil {
			t.Fatal(err)
		}
		return name.String()
	}
	modules, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	at := "https://" + string(regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(modules)[1]) + "/releases/download/v1.2.3/"
	if want := at + render(c.Checksum.Name, "", ""); sumsURL("1.2.3") != want {
		t.Errorf("the checksums are at %s, want %s", sumsURL("1.2.3"), want)
	}
	if name := render(c.Builds[0].Binary, "", ""); !strings.HasPrefix(name, projectName) {
		t.Errorf("the program in an archive is called %s", name)
	}
	known := slices.Collect(maps.Values(processors))
	for _, system := range c.Builds[0].Systems {
		for _, processor := range c.Builds[0].Processors {
			if !slices.Contains(known, processor) {
				t.Errorf("no machine is taken for one of %s", processor)
			}
			t.Run(system+" "+processor, func(t *testing.T) {
				t.Parallel()
				if got, want := archiveURL("1.2.3", system, processor), at+render(c.Archives[0].Name, system, processor)+".zip"; got != want {
					t.Errorf("its archive is at %s, want %s", got, want)
				}
			})
		}
	}
}

// serveReleases has this process get from a server of the test what it asks the releases' own host for, by HTTPS and under the same paths.
func serveReleases(t *testing.T, files map[string]string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, there := files["https://"+r.Host+r.URL.Path]
		if !there {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(text))
	}))
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	before := http.DefaultTransport
	http.DefaultTransport = &http.Transport{
		// The test server's certificate is for this name.
		TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: "example.com"},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}
	t.Cleanup(func() {
		http.DefaultTransport = before
		server.Close()
	})
}

// newArchive makes a zip archive of files.
func newArchive(t *testing.T, files map[string]string) string {
	t.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for name, text := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.String()
}

// TestTheProgramForAnotherPlatformIsTheReleases has the program be fetched by default for a processor that this one is not.
func TestTheProgramForAnotherPlatformIsTheReleases(t *testing.T) { //nolint:tparallel // it changes what the process asks
	const program = "\x7fELF program"
	whole, empty := newArchive(t, map[string]string{"LICENSE": "text", "terraform-provider-virtcluster_v1.2.3": program}), newArchive(t, map[string]string{"LICENSE": "text"})
	// riscv64 is the processor of nobody who runs this; the names of others are looked at above.
	const at = "https://github.com/virtcluster/terraform-provider-virtcluster/releases/download/v1.2.3/terraform-provider-virtcluster_1.2.3_"
	sums := func(sum, processor string) string {
		return fmt.Sprintf("%s  terraform-provider-virtcluster_1.2.3_windows_amd64.zip\n%s  terraform-provider-virtcluster_1.2.3_linux_%s.zip\n%[1]s  terraform-provider-virtcluster_1.2.3_manifest.json\n", Sum(nil), sum, processor)
	}
	right := Sum([]byte(whole))
	for name, c := range map[string]struct {
		files                  map[string]string
		refuses, looks, fetchs string
	}{
		"it is there":          {map[string]string{"SHA256SUMS": sums(right, "riscv64"), "linux_riscv64.zip": whole}, "", "", ""},
		"another checksum":     {map[string]string{"SHA256SUMS": sums(Sum([]byte("x")), "riscv64"), "linux_riscv64.zip": whole}, "", "", "wrong checksum"},
		"no archive":           {map[string]string{"SHA256SUMS": sums(right, "riscv64")}, "", "404", "404"},
		"not of this platform": {map[string]string{"SHA256SUMS": sums(right, "arm64"), "linux_riscv64.zip": whole}, "has no program for svc-1, which is Linux on riscv64: write binary", "", ""},
		"no release":           {nil, "404", "", ""},
		"no program in it":     {map[string]string{"SHA256SUMS": sums(Sum([]byte(empty)), "riscv64"), "linux_riscv64.zip": empty}, "", "", "no file"},
	} {
		t.Run(name, func(t *testing.T) {
			served := map[string]string{}
			for file, text := range c.files {
				served[at+file] = text
			}
			serveReleases(t, served)
			says := func(when string, err error, want string) {
				t.Helper()
				if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", when, err, want)
				}
			}
			p, err := Choose(t.Context(), Machine{System: "Linux", Processor: "riscv64", What: "svc-1", Otherwise: "write binary"}, "", "", "1.2.3")
			if says("it is chosen", err, c.refuses); err != nil {
				return
			}
			if p.Origin != at+"linux_riscv64.zip" {
				t.Errorf("it is from %s", p.Origin)
			}
			says("it is looked at", p.Look(t.Context()), c.looks)
			got, err := p.Fetch(t.Context())
			if says("it is fetched", err, c.fetchs); err == nil && string(got) != program {
				t.Errorf("it is %q", got)
			}
		})
	}
}
