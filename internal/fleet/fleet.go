// Package fleet turns names and endpoints into live connections: one for each machine and each hypervisor,
// made on first use, shared by all resources and made anew when it broke.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// ErrUnknown says that the provider's configuration is not known yet, so no machine may be asked.
var ErrUnknown = errors.New("the provider's configuration is not known until apply")

// Config is the provider's configuration, resolved: no unknowns but those named by a flag.
type Config struct {
	// URI of the hypervisor that resources without `hypervisor` live on.
	URI string
	// URIImplied is set when nobody wrote a URI, here or in libvirt's environment.
	URIImplied bool
	// URIUnknown is set when the URI is not known yet: such resources must not reach any hypervisor.
	URIUnknown bool
	// Hypervisors are further hypervisors: name → URI; an unknown URI is "".
	Hypervisors map[string]string
	// Lost are the names of those that are gone for good, as the configuration says.
	Lost map[string]bool
	// HypervisorsUnknown is set when not even their names are known yet.
	HypervisorsUnknown bool
	// SSH holds the defaults for every SSH connection.
	SSH sshhost.Options
	// SSHUnknown is set when they are not known yet: no machine can be reached by SSH.
	SSHUnknown bool
	// Offline is set when nothing outside may be asked.
	Offline bool
}

// Fleet is what every resource gets from the provider.
type Fleet struct {
	config Config
	// Engine runs the service side's transactions.
	Engine transaction.Engine
	// Turns are the locks of machines that the resources of this run hold together.
	Turns host.Turns

	mu          sync.Mutex
	hypervisors map[string]*hypervisor.Client
	hosts       map[string]host.Host       // by reference
	northbound  map[string]*ovn.Northbound // by reference of the machine
	coming      map[string]bool            // references of machines that are still to be made ready
	ssh         *sshhost.Pool
}

// New makes a fleet that has connected to nothing yet.
func New(config Config) *Fleet {
	return &Fleet{config: config, hypervisors: map[string]*hypervisor.Client{}, hosts: map[string]host.Host{}, northbound: map[string]*ovn.Northbound{}, coming: map[string]bool{}}
}

// URI returns the libvirt URI of a hypervisor by its name in the provider's `hypervisors`; "" is the
// provider's own. The error is ErrUnknown where the URI is not known yet, and a *LostError where the hypervisor is lost.
func (f *Fleet) URI(name string) (string, error) {
	if name == "" {
		if f.config.URIUnknown {
			return "", ErrUnknown
		}
		return f.config.URI, nil
	}
	if f.config.HypervisorsUnknown {
		return "", ErrUnknown
	}
	uri, ok := f.config.Hypervisors[name]
	if !ok && len(f.config.Hypervisors) == 0 {
		return "", fmt.Errorf("no hypervisor %q: the provider knows none but that of its `uri`, which is meant where `hypervisor` is left out", name)
	}
	if !ok {
		return "", fmt.Errorf("no hypervisor %q: the provider's hypervisors are %q", name, slices.Sorted(maps.Keys(f.config.Hypervisors)))
	}
	if f.config.Lost[name] {
		return "", &LostError{Hypervisor: name}
	}
	if uri == "" {
		return "", ErrUnknown
	}
	return uri, nil
}

// Hypervisor returns the client of a hypervisor by name; "" is the provider's own. The client connects on
// first use and again when the connection broke.
func (f *Fleet) Hypervisor(_ context.Context, name string) (*hypervisor.Client, error) {
	uri, err := f.URI(name)
	if err != nil {
		return nil, err
	}
	if f.config.SSHUnknown && (strings.Contains(uri, "ssh://") || strings.Contains(uri, "+libssh2://")) {
		return nil, ErrUnknown
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c, ok := f.hypervisors[uri]; ok {
		return c, nil
	}
	c, err := hypervisor.New(uri, f.config.SSH)
	if err != nil {
		return nil, err
	}
	if f.config.Offline {
		return nil, ErrOffline
	}
	c.Among(func(ctx context.Context) []*hypervisor.Client { return f.listOthers(ctx, c) })
	f.hypervisors[uri] = c
	return c, nil
}

// listOthers lists the hypervisors beside one that may be asked by now and that somebody said is there.
func (f *Fleet) listOthers(ctx context.Context, one *hypervisor.Client) []*hypervisor.Client {
	var others []*hypervisor.Client
	for name, c := range f.Known(ctx) {
		if c != one && !f.IsImplied(name) && !slices.Contains(others, c) {
			others = append(others, c)
		}
	}
	return others
}

// Known returns all hypervisors that may be asked by now, by their names; "" is the provider's own.
func (f *Fleet) Known(ctx context.Context) map[string]*hypervisor.Client {
	all := map[string]*hypervisor.Client{}
	for _, name := range f.Names() {
		if c, err := f.Hypervisor(ctx, name); err == nil { // the resources on it say what is wrong with it
			all[name] = c
		}
	}
	return all
}

// All returns all hypervisors by their names but those that are lost, for what may be on any of them. The error is ErrUnknown where one is
// not known yet.
func (f *Fleet) All(ctx context.Context) (map[string]*hypervisor.Client, error) {
	if err := f.CheckNames(); err != nil {
		return nil, err
	}
	all := map[string]*hypervisor.Client{}
	for _, name := range f.Names() {
		c, err := f.Hypervisor(ctx, name)
		if _, lost := errors.AsType[*LostError](err); lost {
			continue
		}
		if err != nil {
			return nil, err
		}
		all[name] = c
	}
	return all, nil
}

// HostOf returns the endpoint of the machine that a hypervisor runs on, as its URI says: one that is reached over a
// network is reached by SSH, at the URI's port where that is SSH's own, and a local socket means this machine.
func (f *Fleet) HostOf(name string) (string, error) {
	text, err := f.URI(name)
	if err != nil {
		return "", err
	}
	uri, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("parse libvirt URI %q: %w", text, err)
	}
	if uri.Host == "" {
		return "local:", nil
	}
	at := host.Endpoint{Scheme: host.SSH, Host: uri.Hostname()}
	switch _, transport, _ := strings.Cut(uri.Scheme, "+"); transport {
	case "ssh", "libssh", "libssh2":
		at.User = uri.User.Username()
		if port := uri.Port(); port != "" {
			if at.Port, err = strconv.Atoi(port); err != nil {
				return "", fmt.Errorf("port in libvirt URI %q: %w", text, err)
			}
		}
	}
	return at.String(), nil
}

// CheckNames returns ErrUnknown where not even the names of all hypervisors are known yet: what is on none of Names may be on another one.
func (f *Fleet) CheckNames() error {
	if f.config.HypervisorsUnknown {
		return ErrUnknown
	}
	return nil
}

// ListLost lists the hypervisors that are lost, in order: what is on none of All may be there.
func (f *Fleet) ListLost() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.config.Lost)), func(name string) bool { return !f.config.Lost[name] })
}

// Names lists the hypervisors as far as they are known: "" for the provider's own, then the named ones in order.
func (f *Fleet) Names() []string {
	return append([]string{""}, slices.Sorted(maps.Keys(f.config.Hypervisors))...)
}

// IsImplied says whether nobody said that a hypervisor is there: the machine that the provider runs on is its hypervisor where nothing else is written,
// and where others are, it may be without libvirt.
func (f *Fleet) IsImplied(name string) bool {
	return name == "" && f.config.URIImplied && len(f.config.Hypervisors) > 0
}

// ErrOffline says that the provider's configuration forbids to ask anything outside. It is an ErrUnknown, so that who may do
// without an answer does.
var ErrOffline error = offlineError{}

type offlineError struct{}

func (offlineError) Error() string {
	return "the provider is offline: with offline = true it checks plans by themselves, asks nothing outside and changes nothing. Take `offline` out of the provider's configuration"
}

// Is implements errors.Is.
func (offlineError) Is(target error) bool { return target == ErrUnknown }

// Offline says whether nothing outside may be asked, nor changed.
func (f *Fleet) Offline() bool { return f.config.Offline }

// LostError says that a hypervisor is gone for good, as the provider's configuration says. It is an ErrUnknown, as nothing there is asked; what
// is removed there is let go of.
type LostError struct{ Hypervisor string }

func (e *LostError) Error() string {
	return fmt.Sprintf("hypervisor %q is lost, as `lost` of the provider's hypervisors says", e.Hypervisor)
}

// Is implements errors.Is.
func (e *LostError) Is(target error) bool { return target == ErrUnknown }

// NotReadyYetError says that a machine is not asked while planning, as the apply makes it ready first, or makes it at all. It is an
// ErrUnknown.
type NotReadyYetError struct{ Machine string }

func (e *NotReadyYetError) Error() string {
	return fmt.Sprintf("%s is still to be made ready by its virtcluster_service_node", e.Machine)
}

// Is implements errors.Is.
func (e *NotReadyYetError) Is(target error) bool { return target == ErrUnknown }

// Await notes that a machine that is reached by SSH, by its reference, is still to be made ready. Nobody who is Planning gets it
// until it was met, or something else asked it: then it is there.
func (f *Fleet) Await(reference string) {
	e, err := host.ParseEndpoint(reference)
	if err != nil || e.Scheme != host.SSH {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.coming[e.Reference()] = true
}

type planningKey struct{}

// Planning returns a context for a look at machines that is made while planning: where the machine is not there yet, nothing is
// lost without it.
func Planning(ctx context.Context) context.Context {
	return context.WithValue(ctx, planningKey{}, true)
}

func isPlanning(ctx context.Context) bool { return ctx.Value(planningKey{}) != nil }
