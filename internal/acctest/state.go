package acctest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// State is a directory with a configuration and a state of its own, and the CLI that works in it with the sandbox's provider:
// for tests of several states, of what a killed run leaves, and of what the CLI prints.
type State struct {
	Dir string
	t   *testing.T
	// program is the CLI; "" for the one that the tests run with.
	program string
}

// NewState makes an empty one.
func NewState(t *testing.T) *State {
	t.Helper()
	return &State{Dir: t.TempDir(), t: t}
}

// NewStateWithActions makes an empty one with a Terraform of 1.14 or later, whichever program the tests run with.
func NewStateWithActions(t *testing.T) *State {
	t.Helper()
	program, err := exec.LookPath("terraform-1.14")
	if err != nil {
		t.Fatalf("the sandbox has no Terraform of 1.14: tools/terraform builds one: %v", err)
	}
	return &State{Dir: t.TempDir(), t: t, program: program}
}

// For is the same state for a subtest, which a failure ends instead of the test around it.
func (s *State) For(t *testing.T) *State { return &State{Dir: s.Dir, t: t, program: s.program} }

// Write makes the configuration, after a requirement of the provider.
func (s *State) Write(config string) {
	s.t.Helper()
	head := "terraform {\n  required_providers {\n    virtcluster = { source = \"virtcluster/virtcluster\" }\n  }\n}\n"
	if err := os.WriteFile(filepath.Join(s.Dir, "main.tf"), []byte(head+config), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Command is one subcommand under way; Out is what it has printed so far.
type Command struct {
	*exec.Cmd
	Out strings.Builder
}

// Start runs a subcommand in the background.
func (s *State) Start(argv ...string) *Command {
	s.t.Helper()
	c := &Command{Cmd: exec.Command(cmp.Or(s.program, os.Getenv("TF_ACC_TERRAFORM_PATH"), "terraform"), append(argv, "-no-color")...)}
	c.Dir, c.Stdout, c.Stderr = s.Dir, &c.Out, &c.Out
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// Try runs a subcommand and returns what it printed.
func (s *State) Try(argv ...string) (string, error) {
	s.t.Helper()
	c := s.Start(argv...)
	err := c.Wait()
	return c.Out.String(), err
}

// Run runs a subcommand that must succeed and returns what it printed.
func (s *State) Run(argv ...string) string {
	s.t.Helper()
	out, err := s.Try(argv...)
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return out
}

// Apply makes the configuration and applies it.
func (s *State) Apply(config string) {
	s.t.Helper()
	s.Write(config)
	s.Run("apply", "-auto-approve")
}

// JoinLines is what a program says in one line, without the frame around it.
func JoinLines(said string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(said, "│", " ")), " ")
}

// Refused runs a subcommand that must fail and say every one of words, wherever it breaks its lines.
func (s *State) Refused(words []string, argv ...string) {
	s.t.Helper()
	out, err := s.Try(argv...)
	flat := JoinLines(out)
	for _, want := range words {
		if err == nil || !strings.Contains(flat, want) {
			s.t.Fatalf("%s: error %v, and not %q:\n%s", strings.Join(argv, " "), err, want, out)
		}
	}
}

// Settled wants a plan without changes.
func (s *State) Settled() {
	s.t.Helper()
	s.Run("plan", "-detailed-exitcode")
}

// DestroyAtEnd destroys what is there when the test ends, however it ends.
func (s *State) DestroyAtEnd() {
	s.t.Cleanup(func() {
		if out, err := s.Try("destroy", "-auto-approve"); err != nil {
			s.t.Errorf("destroy: %v\n%s", err, out)
		}
	})
}

// Forget removes the state, as a run leaves it that was killed before it wrote one.
func (s *State) Forget() {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.Dir, "terraform.tfstate")); err != nil {
		s.t.Fatal(err)
	}
}

// HalfMade, in a resource, has its create fail when the resource is made: the state has it as tainted then.
const HalfMade = "  provisioner \"local-exec\" { command = \"false\" }\n"

// ReplaceTainted wants a tainted resource to be replaced, and to be left alone where it became somebody else's after the plan.
// halfMade is the configuration with HalfMade in the resource at an address, and taken makes it somebody else's.
func (s *State) ReplaceTainted(address, halfMade, config string, taken func(), words ...string) {
	s.t.Helper()
	s.Write(halfMade)
	s.Refused([]string{"local-exec"}, "apply", "-auto-approve")
	s.Write(config)
	if out := s.Run("apply", "-auto-approve"); !strings.Contains(out, "1 added, 0 changed, 1 destroyed") {
		s.t.Errorf("what is left of a create that failed half-way is not replaced:\n%s", out)
	}
	s.Settled()
	s.Run("taint", address)
	s.Run("plan", "-out=tainted.plan")
	taken()
	s.Refused(append(words, "as that of a tainted resource"), "apply", "tainted.plan")
}
