package bmc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/selfbinary"
)

// release writes an archive as a release has it into the stage's directory, and returns the checksum of it and the sum of the program in it.
func (s *stage) release(name, version string) (archive, program string) {
	s.t.Helper()
	archive, program = acctest.WriteRelease(s.t, filepath.Join(s.dir, name), version)
	return "sha256:" + archive, program
}

// serves checks that a program of a sum is what runs, and serves.
func (s *stage) serves(program string) error {
	if sum := acctest.On(s.t, s.machine, "sh", "-c", "sha256sum </proc/$(systemctl show --property=MainPID --value virtcluster-bmc-rack)/exe"); !strings.HasPrefix(sum, program) {
		return fmt.Errorf("what runs has the sum %s, want %s", sum, program)
	}
	if out, err := s.ipmi("6231", "power", "status"); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
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
		if err := s.serves(program); err != nil {
			t.Error(err)
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

// TestAccBMCProgramIsTheReleasesByDefault has the machine be of another platform, so that the program is fetched from the provider's own release.
func TestAccBMCProgramIsTheReleasesByDefault(t *testing.T) {
	s := newStage(t)
	s.domain("w1", drive)
	before := s.left()
	r := acctest.NewReleaseFor(t, s.machine, "9.9.9")
	config := s.config("nodes = { w1 = { port = 8001, ipmi_port = 6231 } }")
	var show func()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: r.Providers,
		CheckDestroy: func(*terraform.State) error {
			if after := s.left(); after != before {
				return fmt.Errorf("left\n%s\nbefore\n%s", after, before)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{PreConfig: func() { show = r.Hide(t) }, Config: config, PlanOnly: true, ExpectError: regexp.MustCompile(`the\s+server\s+answers\s+404`)},
			{PreConfig: func() { show(); r.Publish(t, selfbinary.Sum(nil)) }, Config: config, ExpectError: regexp.MustCompile(`wrong\s+checksum`)},
			{PreConfig: func() { r.Publish(t, r.Sum) }, Config: config, Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr("virtcluster_bmc.it", "program", r.Archive), resource.TestCheckResourceAttr("virtcluster_bmc.it", "program_checksum", "sha256:"+r.Sum),
				func(*terraform.State) error { return s.serves(r.Program) },
			)},
		},
	})
}
