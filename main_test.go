package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// TestMain has this binary be the provider where a program starts it as one.
func TestMain(m *testing.M) {
	if os.Getenv("TF_PLUGIN_MAGIC_COOKIE") != "" {
		os.Args = os.Args[:1]
		main()
		return
	}
	os.Exit(m.Run())
}

func TestTheVersionIsThatOfTheReleaseOrOfTheInstalledModule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, release, module, want string }{
		{"of a release", "1.2.3", "(devel)", "1.2.3"},
		{"of a release, whatever git says", "1.2.3", "v1.2.2+dirty", "1.2.3"},
		{"installed by its version", "", "v1.2.3", "1.2.3"},
		{"installed from a commit", "", "v0.0.0-20260102030405-0123456789ab", "0.0.0-20260102030405-0123456789ab"},
		{"built in its directory", "", "(devel)", "dev"},
		{"without a module", "", "", "dev"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := findVersion(c.release, &debug.BuildInfo{Main: debug.Module{Version: c.module}}); got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
		})
	}
	if got := findVersion("", nil); got != "dev" {
		t.Errorf("without information it is %q", got)
	}
}

// TestTheManifestNamesTheProtocolThatIsServed starts the provider as Terraform does, and reads which protocol it chooses of those there are.
func TestTheManifestNamesTheProtocolThatIsServed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("terraform-registry-manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Version  int `json:"version"`
		Metadata struct {
			Protocols []string `json:"protocol_versions"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	provider := exec.CommandContext(t.Context(), own)
	provider.Env = append(os.Environ(), "TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2", "PLUGIN_PROTOCOL_VERSIONS=4,5,6,7")
	out, err := provider.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := provider.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = provider.Process.Kill(), provider.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	// The plugin's own protocol, and the one of the provider: 1|6|unix|…
	fields := strings.Split(line, "|")
	if len(fields) < 2 {
		t.Fatalf("it begins with %q", line)
	}
	if want := []string{fields[1] + ".0"}; manifest.Version != 1 || !slices.Equal(manifest.Metadata.Protocols, want) {
		t.Errorf("the manifest has version %d and protocols %v, and %v is served", manifest.Version, manifest.Metadata.Protocols, want)
	}
}
