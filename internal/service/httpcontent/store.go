package httpcontent

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/ownunit"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/unitprogram"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/webfiles"
)

var (
	//go:embed virtcluster-http@.service
	unit string
	// script keeps what is served.
	//
	//go:embed store.sh
	script string
)

// Where things are on a service node: a directory of configuration for each port, and what is served from all of them.
const (
	directory = "/etc/virtcluster-http"
	blobs     = "/var/lib/virtcluster-http"
)

// newDaemon returns the server, to a transaction: program is where the provider's own lies on the machine, "" where nothing is put there.
func newDaemon(program string) *ownunit.Daemon {
	return &ownunit.Daemon{
		Label: "webfiles", Program: "systemctl", Unit: "virtcluster-http", Text: strings.ReplaceAll(unit, "PROGRAM", program),
		Directory: directory, Main: webfiles.ListenerFile, Reloads: true,
	}
}

// instanceOf is the unit's for a port.
func instanceOf(port int64) string { return strconv.FormatInt(port, 10) }

// entryFile is the file of a content.
func entryFile(path string) string { return "content-" + SumOfText(path)[:16] + ".json" }

const head = "Written by terraform-provider-virtcluster "

// Store is a crud.Store of one content.
type Store struct {
	*part.Part[Content]
	version string
	program *selfbinary.Program
}

// Open returns the store of what is served under a path at a port: importID is what `terraform import` takes for it, and version the
// provider's.
func Open(engine *transaction.Engine, h host.Host, claim owner.Claim, port int64, path, importID, version string) *Store {
	s := &Store{version: version, program: &selfbinary.Program{}}
	s.Part = part.Open(engine, h, claim, newPart(port, path, importID, claim.Mark(), s.program))
	return s
}

// newPart is the configuration of a content. The program is the one that the unit is to run, which is known once it was put there.
func newPart(port int64, path, importID string, mark owner.Mark, program *selfbinary.Program) part.Part[Content] {
	d, instance, file := newDaemon(""), instanceOf(port), entryFile(path)
	put := func(t transaction.Tree, want Content) error { return want.put(t, newDaemon(program.Path()), mark) }
	return part.Part[Content]{
		Daemon: d, Owner: fmt.Sprintf("content %q", path), Place: d.Path(instance, file), ImportID: importID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return d.Mark(t, instance, file) },
		Find: func(t transaction.Tree) (Content, error) { return find(t, port, path) },
		Add:  put, Set: put,
		Drop: func(t transaction.Tree) error { drop(t, instance, file); return nil },
	}
}

// put writes the files of the configuration: the content's, and its server's, which has one address.
func (c Content) put(t transaction.Tree, d *ownunit.Daemon, mark owner.Mark) error {
	instance := instanceOf(c.Port)
	listener, err := unitprogram.Encode("a server", webfiles.Listener{Address: c.Address, Port: c.Port})
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(contents(t, instance), func(file string) bool { return file == entryFile(c.Path) })
	if there, is := t[d.Path(instance, webfiles.ListenerFile)]; is && len(others) > 0 && !bytes.Equal(there.Content, listener) {
		return service.At([]any{"listen"}, fmt.Errorf("others serve at port %d of another address already: write that one, or another port", c.Port))
	}
	entry, err := unitprogram.Encode(head+mark.String(), webfiles.Entry{Path: c.Path, Source: c.Source, Directory: c.Directory, Files: c.Files})
	if err == nil {
		d.Put(t, instance, webfiles.ListenerFile, listener, 0o644, "")
		d.Put(t, instance, entryFile(c.Path), entry, 0o644, "")
	}
	return err
}

// contents are the files of an instance's contents.
func contents(t transaction.Tree, instance string) []string {
	var all []string
	for at := range t {
		if name, is := strings.CutPrefix(at, newDaemon("").Path(instance, "")+"/"); is && name != webfiles.ListenerFile {
			all = append(all, name)
		}
	}
	return all
}

// drop takes a content away, and its server with the last one.
func drop(t transaction.Tree, instance, file string) {
	d := newDaemon("")
	d.Drop(t, instance, file)
	if len(contents(t, instance)) == 0 {
		d.Drop(t, instance, webfiles.ListenerFile)
	}
}

// find reads a content; transaction.ErrAbsent where there is none. One that a person made unreadable has nothing, and is written anew.
func find(t transaction.Tree, port int64, path string) (Content, error) {
	d, instance := newDaemon(""), instanceOf(port)
	f, there := t[d.Path(instance, entryFile(path))]
	if !there {
		return Content{}, fmt.Errorf("no content %s at port %d: %w", path, port, transaction.ErrAbsent)
	}
	c := Content{Port: port, Path: path}
	var l webfiles.Listener
	if err := unitprogram.Decode(t[d.Path(instance, webfiles.ListenerFile)].Content, &l); err == nil && l.Port == port {
		c.Address = l.Address
	}
	var e webfiles.Entry
	if err := unitprogram.Decode(f.Content, &e); err == nil && e.Path == path {
		c.Source, c.Directory, c.Files = e.Source, e.Directory, e.Files
	}
	return c, nil
}

// Get reads the content, and whether its files are as they were put there.
func (s *Store) Get(ctx context.Context) (Content, error) {
	c, err := s.Part.Get(ctx)
	if err != nil {
		return c, err
	}
	damaged, err := s.damaged(ctx, c)
	if err != nil {
		return c, err
	}
	c.Damaged = len(damaged) > 0
	if sum, only := c.Files[""]; only && c.Source == "" && c.Directory == "" {
		text, err := s.Host.Read(ctx, blobs+"/"+sum)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
		c.Text = string(text[:min(len(text), longestText)])
	}
	return c, nil
}

// damaged returns the sums of the content's files that are not there, or are something else.
func (s *Store) damaged(ctx context.Context, c Content) ([]string, error) {
	var all []string
	for sums := range slices.Chunk(slices.Compact(slices.Sorted(maps.Values(c.Files))), mostArguments) {
		out, err := s.run(ctx, nil, "damaged", sums...)
		if err != nil {
			return nil, err
		}
		all = append(all, strings.Fields(string(out))...)
	}
	return all, nil
}

// mostArguments is how many sums go into one command.
const mostArguments = 500

func (s *Store) run(ctx context.Context, input []byte, verb string, args ...string) ([]byte, error) {
	cmd := host.ScriptWithInput("store.sh "+verb, script, input, append([]string{verb, blobs}, args...)...)
	cmd.Repeatable = verb != "finish"
	return s.Host.Run(ctx, cmd)
}

// Look returns who listens at the port already, as an error at its attribute.
func (s *Store) Look(ctx context.Context, want Content) error {
	return newDaemon("").CheckPort(ctx, s.Host, instanceOf(want.Port), []any{"listen"}, want.Address, want.Port)
}

// Create puts the files on the machine, and has them served.
func (s *Store) Create(ctx context.Context, want Content) (Content, error) {
	if err := s.MayCreate(ctx); err != nil {
		return want, err
	}
	if err := s.Look(ctx, want); err != nil {
		return want, err
	}
	return s.put(ctx, want, s.Part.Create)
}

// Update does the same to a content that is there.
func (s *Store) Update(ctx context.Context, was, want Content) (Content, error) {
	return s.put(ctx, want, func(ctx context.Context, want Content) (Content, error) { return s.Part.Update(ctx, was, want) })
}

// put puts the program and the files on the machine before the configuration names them, and removes afterwards what nothing names. The lock
// keeps others from removing what is not named yet.
func (s *Store) put(ctx context.Context, want Content, write func(context.Context, Content) (Content, error)) (got Content, err error) {
	if want, err = want.Complete(); err != nil {
		return want, err
	}
	release, err := selfbinary.Install(ctx, s.Host, s.version, s.program)
	if err != nil {
		return want, err
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		err = errors.Join(err, s.collect(ctx), release(ctx))
	}()
	damaged, err := s.damaged(ctx, want)
	if err != nil {
		return want, err
	}
	for _, below := range slices.Sorted(maps.Keys(want.Files)) {
		if i := slices.Index(damaged, want.Files[below]); i >= 0 {
			if err := s.stream(ctx, want, below); err != nil {
				return want, fmt.Errorf("put %s on %s: %w", want.Path, s.Host, err)
			}
			damaged = slices.Delete(damaged, i, i+1)
		}
	}
	if _, err := write(ctx, want); err != nil {
		return want, err
	}
	return service.ReadBack(ctx, s.Get, nil)
}

// pieceLength is how much of a file goes into one command.
const pieceLength = 8 << 20

// stream brings a file to the machine, piece by piece.
func (s *Store) stream(ctx context.Context, want Content, below string) error {
	from, err := want.open(ctx, below)
	if err != nil {
		return err
	}
	defer from.Close()
	sum, piece := want.Files[below], make([]byte, pieceLength)
	for offset, end := int64(0), false; !end; {
		var n int
		if n, end, err = readPiece(from, piece); err != nil {
			return err
		}
		if _, err := s.run(ctx, piece[:n], "append", sum, strconv.FormatInt(offset, 10)); err != nil {
			return err
		}
		offset += int64(n)
	}
	_, err = s.run(ctx, nil, "finish", sum)
	return err
}

// Delete takes the content away, and all that nothing needs any more.
func (s *Store) Delete(ctx context.Context) error {
	return selfbinary.Uninstall(ctx, s.Host, func(ctx context.Context) error {
		if err := s.Part.Delete(ctx); err != nil {
			return err
		}
		return s.collect(ctx)
	})
}

// collect removes the files that no content names.
func (s *Store) collect(ctx context.Context) error {
	_, err := s.run(ctx, nil, "collect", directory)
	return err
}
