package fleet

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/agenthost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

func TestOneMachineIsOneHostHoweverItIsSpelled(t *testing.T) {
	f := New(Config{URI: "test:///default"})
	defer f.Close()
	for _, spellings := range [][]string{
		{"local:", "local:///"},
		{"ssh://root@10.0.0.100", "ssh://root@10.0.0.100:22/"},
		{ // with what this version and those before it carry of the host key
			"ssh://a?host_key=uNi-ztksCsDhcc0_", "ssh://a?host_key=SHA256%3AuNi%2BztksCsDhcc0%2F9e8BrrQXVUpKZIDTMczCvj3tD2s",
			"ssh://a?host_key=SHA256:uNi+ztksCsDhcc0/9e8BrrQXVUpKZIDTMczCvj3tD2s", "ssh://a?host_key=uNi-ztksCsDhcc0_9e8B",
		},
		{"qemu-ga:///okd-service-01"},
	} {
		t.Run(fmt.Sprint(spellings), func(t *testing.T) {
			first, err := f.Host(t.Context(), spellings[0])
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range spellings {
				if again, err := f.Host(t.Context(), s); err != nil || again != first {
					t.Errorf("%s: %v, %v", s, again, err)
				}
			}
		})
	}
	one, _ := f.Host(t.Context(), "ssh://root@10.0.0.100?proxy_jump=a")
	two, _ := f.Host(t.Context(), "ssh://root@10.0.0.100?proxy_jump=b")
	if one == two || one.String() == two.String() {
		t.Errorf("two machines with one address behind two gateways are %q and %q", one, two)
	}
}

func TestAMachineThatIsStillToBeMadeReadyIsNotAskedWhilePlanning(t *testing.T) {
	f := New(Config{URI: "test:///default"})
	defer f.Close()
	const short, whole = "ssh://a?host_key=uNi-ztksCsDhcc0_", "ssh://a?host_key=SHA256:uNi+ztksCsDhcc0/9e8BrrQXVUpKZIDTMczCvj3tD2s"
	f.Await(short)
	_, err := f.Host(Planning(t.Context()), whole)
	coming, isComing := errors.AsType[*NotReadyYetError](err)
	if !isComing || coming.Machine != "a" || !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v", err)
	}
	for name, get := range map[string]func() error{
		"another machine": func() error { _, err := f.Host(Planning(t.Context()), "ssh://b?host_key=uNi-ztksCsDhcc0_"); return err },
		"not planning":    func() error { _, err := f.Host(t.Context(), short); return err },
	} {
		t.Run(name, func(t *testing.T) {
			if err := get(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	// A machine that something else asked is there, and so is this one.
	f.Await("ssh://b?host_key=uNi-ztksCsDhcc0_")
	f.Await("local:")
	if _, err := f.Host(Planning(t.Context()), "local:"); err != nil {
		t.Error(err)
	}
	if _, err := f.Host(Planning(t.Context()), "ssh://b?host_key=uNi-ztksCsDhcc0_"); err != nil {
		t.Error(err)
	}
}

func TestTwoMachinesWhoseKeysBeginAlikeAreTwo(t *testing.T) {
	f := New(Config{URI: "test:///default"})
	defer f.Close()
	one, err1 := f.Host(t.Context(), "ssh://a?host_key=uNi-ztksCsDhcc0_")
	two, err2 := f.Host(t.Context(), "ssh://b?host_key=uNi-ztksCsDhcc0_")
	other, err3 := f.Host(t.Context(), "ssh://a?host_key=uNi-ztksCsDhcc0-")
	if one == two || one == other || errors.Join(err1, err2, err3) != nil {
		t.Errorf("%v %v %v, %v", one, two, other, errors.Join(err1, err2, err3))
	}
	// Two keys of one machine that differ in what a reference leaves out are a contradiction, not one machine.
	if _, err := f.Host(t.Context(), "ssh://a?host_key=uNi-ztksCsDhcc0_9e8BrrQXVUpKZIDTMczCvj3tD2s"); err != nil {
		t.Fatal(err)
	}
	if h, err := f.Host(t.Context(), "ssh://a?host_key=uNi-ztksCsDhcc0_AAAArrQXVUpKZIDTMczCvj3tD2s"); err == nil || !strings.Contains(err.Error(), "two host keys") {
		t.Errorf("%v, %v", h, err)
	}
}

func TestBadEndpointsAreErrors(t *testing.T) {
	f := New(Config{URI: "test:///default"})
	for endpoint, words := range map[string]string{"10.0.0.100": "ssh://", "qemu-ga://kvm9/x": "kvm9"} {
		t.Run(endpoint, func(t *testing.T) {
			if _, err := f.Host(t.Context(), endpoint); err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v", endpoint, err)
			}
		})
	}
}

func TestOnlyWhatMayPassIsTemporary(t *testing.T) {
	for name, c := range map[string]struct {
		err          error
		again, brief bool
	}{
		"connection refused": {&sshhost.ConnectError{}, true, false},
		"cut":                {fmt.Errorf("x: %w", host.ErrCut), true, false},
		"login refused":      {&sshhost.AuthError{Err: errors.New("x")}, true, true},
		"no sudo":            {&host.RootError{}, true, true},
		"wrong host key":     {&sshhost.HostKeyError{}, false, false},
		"agent still starts": {&agenthost.AgentError{Err: errors.New("x")}, true, false},
		"agent forbids":      {&agenthost.DisabledError{}, false, false},
		"anything else":      {errors.New("x"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if again, brief := Temporary(fmt.Errorf("wrapped: %w", c.err)); again != c.again || brief != c.brief {
				t.Errorf("%s: %t, %t", name, again, brief)
			}
		})
	}
}

func TestHostOfAHypervisorIsReachedBySSHAtTheURIsPortOnlyWhereThatIsSSHs(t *testing.T) {
	for uri, want := range map[string]string{
		"qemu:///system":                     "local:",
		"qemu+ssh://root@kvm1:2222/system":   "ssh://root@kvm1:2222",
		"qemu+ssh://kvm1/system?keyfile=/k":  "ssh://kvm1",
		"qemu+libssh2://root@kvm1:23/system": "ssh://root@kvm1:23",
		"qemu+tls://kvm1:16514/system":       "ssh://kvm1",
		"qemu+tcp://[2001:db8::1]:16509/":    "ssh://[2001:db8::1]",
		"qemu://kvm1:16514/system":           "ssh://kvm1",
	} {
		t.Run(uri, func(t *testing.T) {
			if got, err := New(Config{URI: uri}).HostOf(""); err != nil || got != want {
				t.Errorf("%s: %s, %v; want %s", uri, got, err, want)
			}
		})
	}
}

func TestAHypervisorIsImpliedOnlyBesideOthers(t *testing.T) {
	t.Parallel()
	others := map[string]string{"hv-1": "qemu+ssh://hv-1/system"}
	for name, c := range map[string]struct {
		config Config
		of     string
		want   bool
	}{
		"the local one, beside others":           {Config{URIImplied: true, Hypervisors: others}, "", true},
		"another one":                            {Config{URIImplied: true, Hypervisors: others}, "hv-1", false},
		"the local one, and no others":           {Config{URIImplied: true}, "", false},
		"the local one, where somebody wrote it": {Config{Hypervisors: others}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := New(c.config).IsImplied(c.of); got != c.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// How a hypervisor is logged in to may be known later: none that is reached by SSH is asked before, whatever library libvirt takes for it.
func TestAHypervisorIsNotAskedBeforeItsLoginIsKnown(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"ssh", "libssh", "libssh2"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			f := New(Config{URI: "qemu+" + transport + "://root@10.0.0.9/system", SSHUnknown: true})
			if _, err := f.Hypervisor(t.Context(), ""); !errors.Is(err, ErrUnknown) {
				t.Errorf("it is %v", err)
			}
		})
	}
}
