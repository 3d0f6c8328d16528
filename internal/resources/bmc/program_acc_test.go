package bmc_test

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/selfbinary"
)

// sandboxProvider is the provider that Terraform runs in the sandbox.
const sandboxProvider = "/run/sandbox/cli/terraform-provider-virtcluster"

// release writes an archive as a release has it, of a program that says which one it is by its last bytes, and returns the sums of both.
func (s *stage) release(name, version string) (archive, program string) {
	s.t.Helper()
	content, err := os.ReadFile(sandboxProvider)
	if err != nil {
		s.t.Fatal(err)
	}
	content = append(content, version...)
	file := filepath.Join(s.dir, name)
	f, err := os.Create(file)
	if err != nil {
		s.t.Fatal(err)
	}
	w := zip.NewWriter(f)
	for entry, text := range map[string][]byte{"LICENSE": []byte("text\n"), "terraform-provider-virtcluster_v" + version: content} {
		e, err := w.Create(entry)
		if err == nil {
			_, err = e.Write(text)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		s.t.Fatal(err)
	}
	zipped, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	return "sha256:" + selfbinary.Sum(zipped), selfbinary.Sum(content)
}

// TestAccBMCProgramOfARelease has the program be that of an archive that a server has, by its checksum.
func TestAccBMCProgramOfARelease(t *testing.T) {
	s := newStage(t)
	s.domain("w1", drive)
	at := strings.TrimSuffix(s.iso(), "/disc.iso")
	const first, second = "terraform-provider-virtcluster_9.9.8_linux_amd64.zip", "terraform-provider-virtcluster_9.9.9_linux_amd64.zip"
	firstSum, firstProgram := s.release(first, "9.9.8")
	secondSum, secondProgram := s.release(second, "9.9.9")
	binary := func(source, checksum string) string {
		return s.config(fmt.Sprintf("nodes = { w1 = { port = 8001, ipmi_port = 6231 } }\n  binary = { source = %q, checksum = %q }", source, checksum))
	}
	before := s.left()
	state := acctest.NewState(t)
	refused := func(config, words string, argv ...string) {
		t.Helper()
		state.Write(config)
		state.Refused([]string{words}, argv...)
		if after := s.left(); after != before {
			t.Errorf("what was refused left\n%s\nbefore\n%s", after, before)
		}
	}
	refused(binary(at+"/none.zip", firstSum), "the server answers 404", "plan")
	refused(binary("http://10.0.100.254:1/"+first, firstSum), "connection refused", "plan")
	refused(binary(at+"/"+first, secondSum), "wrong checksum", "apply", "-auto-approve")
	refused(binary(filepath.Join(s.dir, first), secondSum), "wrong checksum", "plan")
	installed := func(source, archive, program string) {
		t.Helper()
		state.Write(binary(source, archive))
		if out := state.Run("plan"); !strings.Contains(out, source) || !strings.Contains(out, archive) {
			t.Errorf("the plan does not say that the program is %s:\n%s", source, out)
		}
		state.Run("apply", "-auto-approve")
		state.Settled()
		if sum := acctest.On(t, s.machine, "sh", "-c", "sha256sum </proc/$(systemctl show --property=MainPID --value virtcluster-bmc-rack)/exe"); !strings.HasPrefix(sum, program) {
			t.Errorf("what runs has the sum %s, want %s", sum, program)
		}
		if out, err := s.ipmi("6231", "power", "status"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	installed(at+"/"+first, firstSum, firstProgram)
	installed(at+"/"+second, secondSum, secondProgram)
	installed(filepath.Join(s.dir, first), firstSum, firstProgram)
	// A file that is gone meanwhile is not needed again.
	if err := os.Remove(filepath.Join(s.dir, first)); err != nil {
		t.Fatal(err)
	}
	state.Settled()
	state.Run("destroy", "-auto-approve")
	if after := s.left(); after != before {
		t.Errorf("destroy left\n%s\nbefore\n%s", after, before)
	}
}
