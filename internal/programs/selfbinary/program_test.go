package selfbinary

import (
	"archive/zip"
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestTheProgramIsTheOneForTheMachine(t *testing.T) {
	dir := t.TempDir()
	program := []byte("\x7fELF program")
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	f, _ := w.Create("terraform-provider-virtcluster_v1.2.3")
	_, _ = f.Write(program)
	_ = w.Close()
	plain, zipped := filepath.Join(dir, "plain"), filepath.Join(dir, "zipped")
	if err := errors.Join(os.WriteFile(plain, program, 0o600), os.WriteFile(zipped, archive.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	here := Machine{System: "Linux", Processor: map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]}
	for name, c := range map[string]struct {
		machine                   Machine
		source, checksum, version string
		origin, fails             string
	}{
		"this machine's":     {here, "", "", "dev", Own, ""},
		"a file":             {here, plain, "sha256:" + Sum(program), "dev", plain, ""},
		"an archive":         {here, zipped, "sha256:" + Sum(archive.Bytes()), "dev", zipped, ""},
		"a URL":              {here, server.URL + "/zipped", "sha256:" + strings.ToUpper(Sum(archive.Bytes())), "dev", server.URL + "/zipped", ""},
		"another checksum":   {here, plain, "sha256:" + Sum(nil), "dev", plain, "wrong checksum"},
		"a file that is not": {here, plain + "x", "sha256:" + Sum(nil), "dev", plain + "x", "no such file"},
		"a URL that is not":  {here, server.URL + "/x", "sha256:" + Sum(nil), "dev", server.URL + "/x", "404"},
		"another processor":  {Machine{System: "Linux", Processor: "riscv64", Otherwise: "write binary"}, "", "", "dev", "", "write binary"},
		"another system":     {Machine{System: "FreeBSD", Processor: here.Processor}, "", "", "dev", "", "FreeBSD"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Choose(t.Context(), c.machine, c.source, c.checksum, c.version)
			if looks := err == nil && p.Look(t.Context()) == nil; looks != (c.fails == "") {
				t.Errorf("before it is fetched it looks as if it could be: %t", looks)
			}
			var content []byte
			if err == nil && p.Origin != Own {
				content, err = p.Fetch(t.Context())
			}
			if p.Origin != c.origin || (c.fails == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Fatalf("%+v: %v", p, err)
			}
			if err == nil && p.Origin != Own && !bytes.Equal(content, program) {
				t.Errorf("it is %q", content)
			}
		})
	}
}
