package netboot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/netboot"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/unitprogram"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Profile is what a machine boots, in plain values, and what its server knows of it.
type Profile struct {
	netboot.Profile
	// Standby is the boot server beside the first that has the profile too, by its id; "" for none.
	Standby string
	// Installed says that the machine boots from its disk, and LastSeen is when it last asked for anything; both are only read.
	Installed bool
	LastSeen  time.Time
	// ReportURL is where the machine may say that it is installed.
	ReportURL string
}

var lineForm = regexp.MustCompile(`^[^\x00-\x1f\x7f]*$`)

// CheckName refuses what is no name of a profile.
var CheckName = service.NewForm(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`, "write 1 to 63 lower-case letters, digits and dashes")

// CheckURL refuses what nothing can be fetched from.
var CheckURL = service.NewForm(`^https?://[^\s"'\\<>]+$`, "write a URL such as http://10.0.0.100:8080/vmlinuz")

// Validate finds what no machine would boot.
func (p Profile) Validate() []service.Problem {
	var all []service.Problem
	if !lineForm.MatchString(p.Cmdline) {
		all = append(all, service.Problemf([]any{"cmdline"}, "Invalid command line", "write one line without control characters"))
	}
	if p.Kind == "ignition" && !json.Valid([]byte(p.Files["config.ign"])) {
		all = append(all, service.Problemf([]any{"ignition"}, "Invalid Ignition", "write the JSON that Ignition reads; butane takes what people write"))
	}
	if p.Reports && !p.Once {
		all = append(all, service.Problemf([]any{"wait_for_report"}, "Nothing to wait for", "a machine that is to boot this each time (once = false) has nothing to report: leave it out"))
	}
	return all
}

// Uses implements plan.User: a machine has one profile, and a node has the address that the profile is for.
func (p Profile) Uses() []plan.Use {
	if p.MAC == "" {
		return nil
	}
	uses := []plan.Use{{Kind: plan.BootedMachine, Value: p.MAC, Path: []any{"mac"}}}
	if p.Node != "" {
		uses = append(uses, plan.Use{Kind: plan.BootedNode, Value: p.Node, For: p.MAC, Path: []any{"node"}})
	}
	return uses
}

// NewProfilePart returns the profile of a name on a machine's boot server.
func NewProfilePart(name, importID string, mark owner.Mark) part.Part[Profile] {
	d, file := NewDaemon(""), netboot.ProfileFile(name)
	put := func(t transaction.Tree, want Profile, id string) error {
		if _, there := t[d.Path(instance, netboot.ServerFile)]; !there {
			return errors.New("there is no boot server on the machine: make a virtcluster_boot_server first")
		}
		want.ID = id
		content, err := unitprogram.Encode(head+mark.String(), want.Profile)
		if err == nil {
			d.PutFile(t, instance, file, content, 0o600, "")
		}
		return err
	}
	return part.Part[Profile]{
		Daemon: d, Owner: fmt.Sprintf("boot profile %q", name), Place: d.Path(instance, file), ImportID: importID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return d.Mark(t, instance, file) },
		Find: func(t transaction.Tree) (Profile, error) { return findProfile(t, name) },
		Add:  func(t transaction.Tree, want Profile) error { return put(t, want, mark.ID) },
		Set: func(t transaction.Tree, want Profile) error {
			was, _ := findProfile(t, name) // an import changes whose it is, and not which machine is installed
			return put(t, want, was.ID)
		},
		Drop:    func(t transaction.Tree) error { d.Drop(t, instance, file); return nil },
		Secrets: func(want Profile) []string { return append(slices.Collect(maps.Values(want.Files)), want.Butane) },
	}
}

// findProfile reads a profile; transaction.ErrAbsent where there is none. One that a person made unreadable has nothing.
func findProfile(t transaction.Tree, name string) (Profile, error) {
	d := NewDaemon("")
	f, there := t[d.Path(instance, netboot.ProfileFile(name))]
	if !there {
		return Profile{}, fmt.Errorf("no boot profile %q: %w", name, transaction.ErrAbsent)
	}
	var p netboot.Profile
	if err := unitprogram.Decode(f.Content, &p); err != nil || p.Name != name {
		return Profile{Profile: netboot.Profile{Name: name}}, nil //nolint:nilerr // it is written anew
	}
	var s netboot.Server
	if err := unitprogram.Decode(t[d.Path(instance, netboot.ServerFile)].Content, &s); err != nil {
		return Profile{Profile: p}, nil //nolint:nilerr // it has no URL while the server is not whole
	}
	return Profile{Profile: p, ReportURL: p.ReportURL(s)}, nil
}

// ListProfiles lists the profiles on the boot server of a machine's configuration, each with the id of the boot server that it is named by: the first
// of two that it says have it, and server where it says nothing.
func ListProfiles(t transaction.Tree, server string) (names, firsts []string) {
	d := NewDaemon("")
	prefix, suffix, _ := strings.Cut(netboot.ProfileFile("*"), "*")
	for _, file := range t.ListNames(d.Path(instance, ""), suffix) {
		name, begins := strings.CutPrefix(file, prefix)
		if !begins || CheckName(name) != nil {
			continue
		}
		first := server
		if p, err := findProfile(t, name); err == nil && findOther(p.Servers, server) != "" {
			first = p.Servers[0]
		}
		names, firsts = append(names, name), append(firsts, first)
	}
	return names, firsts
}

// ProfileStore is a crud.Store of a profile on its boot server, and on the one beside it.
type ProfileStore struct {
	// First is on the server that the profile is named by, Standby on the one beside it; nil where there is none.
	First, Standby *part.Part[Profile]
	// OpenOther opens the part on another boot server, with what may be called its own: on one that the profile leaves, or that only the first
	// one knows of.
	OpenOther func(ctx context.Context, claim owner.Claim, bootServer string) (*part.Part[Profile], error)
	// FirstServer and StandbyServer are the ids of their boot servers.
	FirstServer, StandbyServer string

	claim owner.Claim
}

// OpenProfile returns the store of a profile, with what its resource may call its own.
func OpenProfile(claim owner.Claim, s ProfileStore) *ProfileStore {
	s.claim = claim
	return &s
}

func (s *ProfileStore) listParts() []*part.Part[Profile] {
	if s.Standby == nil {
		return []*part.Part[Profile]{s.First}
	}
	return []*part.Part[Profile]{s.First, s.Standby}
}

// Claim implements crud.Owned: the claim is one for both.
func (s *ProfileStore) Claim() owner.Claim { return s.claim }

// FinishMark implements crud.Owned.
func (s *ProfileStore) FinishMark(ctx context.Context) error {
	var errs []error
	for _, p := range s.listParts() {
		errs = append(errs, p.FinishMark(ctx))
	}
	err := errors.Join(errs...)
	if err == nil {
		s.claim = s.claim.Finished()
	}
	return err
}

// MayCreate implements crud.Previewer.
func (s *ProfileStore) MayCreate(ctx context.Context) error {
	for _, p := range s.listParts() {
		if err := p.MayCreate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Warnings implements crud.Warner.
func (s *ProfileStore) Warnings() (all []service.Problem) {
	for _, p := range s.listParts() {
		all = append(all, p.Warnings()...)
	}
	return all
}

// SplitServer returns the service node of a boot server, by its id.
func SplitServer(id string) (serviceNode string, err error) {
	serviceNode, ok := strings.CutSuffix(id, "#boot")
	if _, failed := host.ParseEndpoint(serviceNode); !ok || failed != nil {
		return "", fmt.Errorf("%q is no id of a virtcluster_boot_server", id)
	}
	return serviceNode, nil
}

// findOther is the first of several boot servers that is another one, by its id; "" for none. What a person made no id is none.
func findOther(servers []string, server string) string {
	for _, id := range servers {
		if _, err := SplitServer(id); err == nil && !host.SameReference(id, server) {
			return id
		}
	}
	return ""
}

// Get reads the profile, and what its servers know of the machine. A second server that the resource does not know of, as after an import, is the
// one that the first one's file names. Where one of two lacks the profile, or has it otherwise, its kernel is missing: the next apply writes it
// anew.
func (s *ProfileStore) Get(ctx context.Context) (Profile, error) {
	got, err := s.First.Get(ctx)
	s.claim = s.First.Claim()
	if other := findOther(got.Servers, s.FirstServer); s.Standby == nil && err == nil && other != "" {
		s.StandbyServer = other
		if s.Standby, err = s.OpenOther(ctx, s.claim, other); err != nil {
			return got, err
		}
	}
	if s.Standby == nil {
		return s.addKnown(ctx, got, err)
	}
	other, failed := s.Standby.Get(ctx)
	switch {
	case part.IsAbsent(err) && part.IsAbsent(failed):
		return got, err
	case part.IsAbsent(err) && failed == nil:
		got, err = other, nil
		got.Kernel = ""
	case part.IsAbsent(failed) && err == nil:
		got.Standby = ""
		return s.addKnown(ctx, got, nil)
	case err != nil || failed != nil:
		return got, errors.Join(err, failed)
	case !sameProfile(got.Profile, other.Profile):
		got.Kernel = ""
	}
	got.Standby = s.StandbyServer
	return s.addKnown(ctx, got, err)
}

func sameProfile(a, b netboot.Profile) bool {
	a.ID = b.ID
	one, err := json.Marshal(a)
	other, failed := json.Marshal(b)
	return err == nil && failed == nil && string(one) == string(other)
}

// addKnown adds what the servers know of the machine.
func (s *ProfileStore) addKnown(ctx context.Context, got Profile, err error) (Profile, error) {
	if err != nil {
		return got, err
	}
	for _, p := range s.listParts() {
		r, err := readRecord(ctx, p.Host, got.MAC)
		if err != nil {
			return got, err
		}
		if r.Counts(got.Profile) && r.Spent != nil {
			got.Installed = true
		}
		if r.Seen.After(got.LastSeen) {
			got.LastSeen = r.Seen
		}
	}
	return got, nil
}

// readRecord reads what a machine's server knows of one that boots; the zero Record where that never asked.
func readRecord(ctx context.Context, h host.Host, mac string) (r netboot.Record, err error) {
	if mac == "" {
		return r, nil
	}
	content, err := h.Read(ctx, "/var/lib/virtcluster-boot-"+instance+"/"+netboot.RecordFile(mac))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, nil
	case err != nil:
		return r, fmt.Errorf("read what is known of %s on %s: %w", mac, h, err)
	}
	return r, json.Unmarshal(content, &r)
}

// Create adds the profile to both servers.
func (s *ProfileStore) Create(ctx context.Context, want Profile) (Profile, error) {
	if err := s.Ask(ctx, Profile{}, want, nil); err != nil && !errors.Is(err, errUnasked) {
		return want, err
	}
	for _, p := range s.listParts() {
		_, err := p.Create(ctx, want)
		if p.Claim().IsWritten() { // be it that it could not be read back
			s.claim = s.claim.Written()
		}
		if err != nil {
			return want, err
		}
	}
	return service.ReadBack(ctx, s.Get, nil)
}

// Update changes it on both, and takes it from one that it leaves last.
func (s *ProfileStore) Update(ctx context.Context, was, want Profile) (Profile, error) {
	if err := s.Ask(ctx, was, want, nil); err != nil && !errors.Is(err, errUnasked) {
		return want, err
	}
	for _, p := range s.listParts() {
		if _, err := p.Update(ctx, was, want); err != nil {
			return want, err
		}
		s.claim = s.claim.Written()
	}
	if was.Standby != "" && !host.SameReference(was.Standby, want.Standby) {
		left, err := s.OpenOther(ctx, s.claim, was.Standby)
		if err == nil {
			err = left.Delete(ctx)
		}
		if err != nil {
			return want, err
		}
	}
	return service.ReadBack(ctx, s.Get, nil)
}

// Delete takes it from both.
func (s *ProfileStore) Delete(ctx context.Context) error {
	var errs []error
	for _, p := range s.listParts() {
		errs = append(errs, p.Delete(ctx))
	}
	return errors.Join(errs...)
}

// Serving implements crud.Server.
func (s *ProfileStore) Serving() bool {
	return !slices.ContainsFunc(s.listParts(), func(p *part.Part[Profile]) bool { return !p.Serving() })
}

// Canonical is a MAC address as profiles have it.
func Canonical(mac string) string { return strings.ToLower(netboot.CanonicalMAC(mac)) }
