package netboot

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGRUBBootsWhatIPXEDoes has a machine be installed by GRUB, and boot from its disk from then on.
func TestGRUBBootsWhatIPXEDoes(t *testing.T) {
	t.Parallel()
	s, server, _ := newService(t, func(p *Profile) {
		p.Kind, p.Files = "cloud_init", map[string]string{"meta-data": "x", "user-data": "y"}
	})
	if _, status := get(t, server.URL+"/grub/grub.cfg"); status != http.StatusNotFound {
		t.Errorf("without Secure Boot GRUB gets %d", status)
	}
	c := *s.config.Load()
	c.Server.SecureBoot = true
	s.config.Store(&c)
	if first, _ := get(t, server.URL+"/grub/grub.cfg"); !strings.Contains(first, "\tsource /boot/$net_default_mac/grub.cfg\n") {
		t.Errorf("GRUB gets\n%s", first)
	}
	const own = "/boot/52-54-00-aa-00-01"
	const want = "if linux " + own + "/kernel 'console=ttyS0' 'ds=nocloud;s=http://127.0.0.1:8090" + own + "/'; then\nif initrd " + own + "/initrd0; then\nboot\nfi\nfi\n"
	if script, _ := get(t, server.URL+"/boot/"+mac+"/grub.cfg"); !strings.HasSuffix(script, want) {
		t.Errorf("the script is\n%s", script)
	}
	for _, name := range []string{"kernel", "initrd0", "meta-data", "user-data"} {
		get(t, server.URL+here+"/"+name)
	}
	for _, at := range []string{here, "/boot/52-54-00-00-00-99"} {
		t.Run("from its disk "+at, func(t *testing.T) {
			script, status := get(t, server.URL+at+"/grub.cfg")
			if status != http.StatusOK || strings.Contains(script, "if linux") || !strings.Contains(script, "--set=root $file; then\n\t\tchainloader $file\n") || !strings.HasSuffix(script, "\nexit\n") {
				t.Errorf("%d:\n%s", status, script)
			}
		})
	}
}

// TestShimFindsGRUBBesideItself asks as shim does, which has two slashes before the name.
func TestShimFindsGRUBBesideItself(t *testing.T) {
	t.Parallel()
	s, server, _ := newService(t, nil)
	c := *s.config.Load()
	c.Server.SecureBoot = true
	s.config.Store(&c)
	if err := os.WriteFile(filepath.Join(c.Server.Loaders, "grubx64.efi"), []byte("GRUB"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/grubx64.efi", "//grubx64.efi", "///grubx64.efi"} {
		t.Run(path, func(t *testing.T) {
			if got, status := get(t, server.URL+path); got != "GRUB" || status != http.StatusOK {
				t.Errorf("it is %d %q", status, got)
			}
		})
	}
}

func TestAKernelsWordsAreOneEach(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"":                             nil,
		"quiet  console=ttyS0 ":        {"'quiet'", "'console=ttyS0'"},
		`dyndbg="file x.c +p" "a b"=c`: {"'dyndbg=file x.c +p'", "'a b=c'"},
		"s=http://x/;y $z {a} it's":    {"'s=http://x/;y'", "'$z'", "'{a}'", `'it'\''s'`},
		`empty="" next`:                {"'empty='", "'next'"},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, word := range splitCommandLine(line) {
				got = append(got, quoteGrub(word))
			}
			if !slices.Equal(got, want) {
				t.Errorf("they are %q, want %q", got, want)
			}
		})
	}
}
