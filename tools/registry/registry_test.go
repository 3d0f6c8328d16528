package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const manifest = `{"version": 1, "metadata": {"protocol_versions": ["6.0"]}}`

// newRelease makes the files of a release with one archive, of a program with a name and a mode.
func newRelease(t *testing.T, archive, program string, mode os.FileMode, manifest string) string {
	t.Helper()
	var content bytes.Buffer
	w := zip.NewWriter(&content)
	header := &zip.FileHeader{Name: program}
	header.SetMode(mode)
	if _, err := w.CreateHeader(header); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	sums := ""
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(text)), name)
	}
	write(archive, content.String())
	write("terraform-provider-virtcluster_1.2.3_manifest.json", manifest)
	write("terraform-provider-virtcluster_1.2.3_SHA256SUMS", sums)
	write("terraform-provider-virtcluster_1.2.3_SHA256SUMS.sig", "\x89binary")
	return directory
}

func TestAReleaseThatBreaksARuleIsRefused(t *testing.T) {
	t.Parallel()
	const archive, program = "terraform-provider-virtcluster_1.2.3_linux_amd64.zip", "terraform-provider-virtcluster_v1.2.3"
	for _, c := range []struct {
		name   string
		make   func(t *testing.T) string
		change map[string]string // file → its text; no text removes it
		want   string
	}{
		{name: "as it is to be"},
		{name: "a program for Windows", make: func(t *testing.T) string {
			t.Helper()
			return newRelease(t, "terraform-provider-virtcluster_1.2.3_windows_amd64.zip", program+".exe", 0o755, manifest)
		}},
		{name: "the kind of ARM in a name", make: func(t *testing.T) string {
			t.Helper()
			return newRelease(t, "terraform-provider-virtcluster_1.2.3_linux_arm_v6.zip", program, 0o755, manifest)
		}, want: "an archive is called"},
		{name: "a program without its version", make: func(t *testing.T) string {
			t.Helper()
			return newRelease(t, archive, project, 0o755, manifest)
		}, want: "for programs"},
		{name: "a program that cannot be run", make: func(t *testing.T) string { t.Helper(); return newRelease(t, archive, program, 0o644, manifest) }, want: "not executable"},
		{name: "a manifest of nothing", make: func(t *testing.T) string { t.Helper(); return newRelease(t, archive, program, 0o755, `{"version": 1}`) }, want: "protocol_versions"},
		{name: "no manifest", change: map[string]string{"_manifest.json": ""}, want: "no such file"},
		{name: "another manifest than was summed", change: map[string]string{"_manifest.json": manifest + "\n"}, want: "the sums say"},
		{name: "an archive that changed", change: map[string]string{"_linux_amd64.zip": "x"}, want: "the sums say"},
		{name: "no archive", change: map[string]string{"_linux_amd64.zip": ""}, want: "there is no archive"},
		{name: "no signature", change: map[string]string{"_SHA256SUMS.sig": ""}, want: "no such file"},
		{name: "a signature as text", change: map[string]string{"_SHA256SUMS.sig": "-----BEGIN PGP SIGNATURE-----\n"}, want: "binary form"},
		{name: "no sums", change: map[string]string{"_SHA256SUMS": ""}, want: "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.make == nil {
				c.make = func(t *testing.T) string { t.Helper(); return newRelease(t, archive, program, 0o755, manifest) }
			}
			directory := c.make(t)
			for suffix, text := range c.change {
				file := filepath.Join(directory, "terraform-provider-virtcluster_1.2.3"+suffix)
				err := os.Remove(file)
				if err == nil && text != "" {
					err = os.WriteFile(file, []byte(text), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			_, err := checkRelease(directory, "1.2.3")
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestAPageThatTheRegistryCutsIsRefused(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	if err := checkPages(directory); err == nil {
		t.Error("documentation without pages passes")
	}
	if err := os.WriteFile(filepath.Join(directory, "index.md"), make([]byte, largestPage+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkPages(directory); err == nil || !strings.Contains(err.Error(), "index.md has 500001 bytes") {
		t.Errorf("too long a page: %v", err)
	}
	if err := checkPages("../../docs"); err != nil {
		t.Error(err)
	}
}
