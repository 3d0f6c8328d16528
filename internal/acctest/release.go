package acctest

import (
	"archive/zip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// sandboxProvider is the provider that Terraform runs in the sandbox.
const sandboxProvider = "/run/sandbox/cli/terraform-provider-virtcluster"

// WriteRelease writes an archive as a release has it, of a program that says which one it is by its last bytes, and returns the sums of both.
func WriteRelease(t *testing.T, file, version string) (archive, program string) {
	t.Helper()
	content, err := os.ReadFile(sandboxProvider)
	if err != nil {
		t.Fatal(err)
	}
	return writeArchive(t, file, version, append(content, version...))
}

// writeArchive writes an archive of a program.
func writeArchive(t *testing.T, file, version string, content []byte) (archive, program string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	for entry, text := range map[string][]byte{"LICENSE": []byte("text\n"), "terraform-provider-virtcluster_v" + version: content} {
		e, err := w.Create(entry)
		if err == nil {
			_, err = e.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	zipped, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return selfbinary.Sum(zipped), selfbinary.Sum(content)
}

// ReleaseFor is the release of a version of the provider, with a program for machines with an ARM processor, which a machine of the sandbox says
// it has until the test ends.
type ReleaseFor struct {
	// Providers serves the provider of that version in the test's process.
	Providers map[string]func() (tfprotov6.ProviderServer, error)
	// Archive is the URL of the archive for those machines, and Sum and Program are the checksums of it and of the program in it.
	Archive, Sum, Program string

	archive, sums string
}

// NewReleaseFor makes a release that this process gets from the test in place of the host that has releases, and under the same paths. Its program is
// this processor's, as the machine is.
func NewReleaseFor(t *testing.T, machine, version string) *ReleaseFor {
	t.Helper()
	content, err := os.ReadFile(sandboxProvider)
	if err != nil {
		t.Fatal(err)
	}
	return NewReleaseOf(t, machine, version, append(content, version...))
}

// NewReleaseOf is NewReleaseFor with a program.
func NewReleaseOf(t *testing.T, machine, version string, content []byte) *ReleaseFor {
	t.Helper()
	const project = "terraform-provider-virtcluster"
	dir, at := t.TempDir(), "/virtcluster/"+project+"/releases/download/v"+version+"/"
	name := fmt.Sprintf("%s_%s_linux_arm64.zip", project, version)
	r := &ReleaseFor{
		Providers: map[string]func() (tfprotov6.ProviderServer, error){"virtcluster": func() (tfprotov6.ProviderServer, error) { return provider.Server(version), nil }},
		Archive:   "https://github.com" + at + name, archive: filepath.Join(dir, name), sums: filepath.Join(dir, project+"_"+version+"_SHA256SUMS"),
	}
	r.Sum, r.Program = writeArchive(t, r.archive, version, content)
	r.Publish(t, r.Sum)
	server := httptest.NewTLSServer(http.StripPrefix(at, http.FileServer(http.Dir(dir))))
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
	On(t, machine, "sh", "-ec", `printf '#!/bin/sh\n/usr/bin/uname "$@" | sed s/x86_64/aarch64/\n' >/usr/local/bin/uname && chmod +x /usr/local/bin/uname`)
	t.Cleanup(func() {
		_, _ = Try(context.Background(), machine, "rm", "-f", "/usr/local/bin/uname")
		http.DefaultTransport = before
		server.Close()
	})
	return r
}

// Publish has the release's checksums say that the archive has a sum.
func (r *ReleaseFor) Publish(t *testing.T, sum string) {
	t.Helper()
	if err := os.WriteFile(r.sums, fmt.Appendf(nil, "%s  %s\n", sum, filepath.Base(r.archive)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Hide has the release have no archive until what is returned is called.
func (r *ReleaseFor) Hide(t *testing.T) (show func()) {
	t.Helper()
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(r.archive, r.archive+".hidden")
	return func() { move(r.archive+".hidden", r.archive) }
}
