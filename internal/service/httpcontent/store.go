package httpcontent

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/unitprogram"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/webfiles"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/ownunit"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var (
	//go:embed virtcluster-http@.service
	unit string
	// script keeps what is served.
	//
	//go:embed store.sh
	script string
	// appendScript takes what comes to be kept.
	//
	//go:embed append.sh
	appendScript string
)

// Where things are on a service node: a directory of configuration for each port, and what is served from all of them.
const (
	directory = "/etc/virtcluster-http"
	blobs     = "/var/lib/virtcluster-http"
)

// NewDaemon returns the server, to a transaction: program is where the provider's own lies on the machine, "" where nothing is put there.
func NewDaemon(program string) *ownunit.Daemon {
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

// NewPart returns what is served under a path at a port: mark is its owner's, importID what `terraform import` takes for it, and version the
// provider's.
func NewPart(port int64, path, importID string, mark owner.Mark, version string) part.Part[Content] {
	program := &selfbinary.Program{}
	return ownunit.WithProgram(newPart(port, path, importID, mark, program), program, version)
}

// newPart is the configuration of a content. The program is the one that the unit is to run, which is known once it was put there.
func newPart(port int64, path, importID string, mark owner.Mark, program *selfbinary.Program) part.Part[Content] {
	d, instance, file := NewDaemon(""), instanceOf(port), entryFile(path)
	put := func(t transaction.Tree, want Content) error {
		return want.writeEntry(t, NewDaemon(program.Path()), mark)
	}
	return part.Part[Content]{
		Daemon: d, Owner: fmt.Sprintf("content %q", path), Place: d.Path(instance, file), ImportID: importID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return d.Mark(t, instance, file) },
		Find: func(t transaction.Tree) (Content, error) { return findContent(t, port, path) }, Serves: d.Serves(instance),
		Add: put, Set: put,
		Drop: func(t transaction.Tree) error { dropContent(t, instance, file); return nil },
		Look: func(ctx context.Context, h host.Host, want Content) error {
			return d.CheckPort(ctx, h, instance, []any{"listen"}, want.Address, want.Port)
		},
		Complete: readFiles,
		Change:   putFiles,
		Remove: func(ctx context.Context, h host.Host, remove func(context.Context) error) error {
			if err := remove(ctx); err != nil {
				return err
			}
			return collectFiles(ctx, h)
		},
	}
}

// writeEntry writes the files of the configuration: the content's, and its server's, which has one address.
func (c Content) writeEntry(t transaction.Tree, d *ownunit.Daemon, mark owner.Mark) error {
	instance := instanceOf(c.Port)
	listener, err := unitprogram.Encode("a server", webfiles.Listener{Address: c.Address, Port: c.Port})
	if err != nil {
		return err
	}
	there, err := findAddress(t, c.Port)
	others := slices.DeleteFunc(listContents(t, instance), func(file string) bool { return file == entryFile(c.Path) })
	if err == nil && len(others) > 0 && there != c.Address {
		return service.At([]any{"listen"}, fmt.Errorf("others serve at port %d of another address already: write that one, or another port", c.Port))
	}
	want := webfiles.Entry{Path: c.Path, Source: c.Source, Directory: c.Directory, Files: c.Files}
	served := want.Served()
	for _, file := range others {
		var other webfiles.Entry
		if unitprogram.Decode(t[d.Path(instance, file)].Content, &other) != nil {
			continue
		}
		for _, at := range slices.Sorted(maps.Keys(other.Served())) {
			if _, twice := served[at]; twice {
				return service.At([]any{"path"}, fmt.Errorf("%s is served at port %d already, by the content %s: write another path, or another port", at, c.Port, other.Path))
			}
		}
	}
	entry, err := unitprogram.Encode(head+mark.String(), want)
	if err == nil {
		d.Put(t, instance, webfiles.ListenerFile, listener, 0o644, "")
		d.Put(t, instance, entryFile(c.Path), entry, 0o644, "")
	}
	return err
}

// listContents lists the files of an instance's contents.
func listContents(t transaction.Tree, instance string) []string {
	var all []string
	for at := range t {
		if name, is := strings.CutPrefix(at, NewDaemon("").Path(instance, "")+"/"); is && name != webfiles.ListenerFile {
			all = append(all, name)
		}
	}
	return all
}

// ListContents lists what a machine serves, whosever it is: where, and under which path. What cannot be read is not among it.
func ListContents(t transaction.Tree) []Content {
	d := NewDaemon("")
	var all []Content
	for _, instance := range d.ListInstances(t) {
		var l webfiles.Listener
		if unitprogram.Decode(t[d.Path(instance, webfiles.ListenerFile)].Content, &l) != nil {
			continue
		}
		for _, file := range listContents(t, instance) {
			var e webfiles.Entry
			if unitprogram.Decode(t[d.Path(instance, file)].Content, &e) == nil {
				all = append(all, Content{Address: l.Address, Port: l.Port, Path: e.Path})
			}
		}
	}
	slices.SortFunc(all, func(a, b Content) int { return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Path, b.Path)) })
	return all
}

// dropContent takes a content away, and its server with the last one.
func dropContent(t transaction.Tree, instance, file string) {
	d := NewDaemon("")
	d.Drop(t, instance, file)
	if len(listContents(t, instance)) == 0 {
		d.Drop(t, instance, webfiles.ListenerFile)
	}
}

// findContent reads a content; transaction.ErrAbsent where there is none. One that a person made unreadable has nothing, and is written anew.
func findContent(t transaction.Tree, port int64, path string) (Content, error) {
	d, instance := NewDaemon(""), instanceOf(port)
	f, there := t[d.Path(instance, entryFile(path))]
	if !there {
		return Content{}, fmt.Errorf("no content %s at port %d: %w", path, port, transaction.ErrAbsent)
	}
	c := Content{Port: port, Path: path}
	address, err := findAddress(t, port)
	c.Address, c.Damaged = address, err != nil
	var e webfiles.Entry
	if err := unitprogram.Decode(f.Content, &e); err == nil && e.Path == path {
		c.Source, c.Directory, c.Files = e.Source, e.Directory, e.Files
	}
	return c, nil
}

// findAddress reads the address of a port's server. The file of one that is not there, or that a person made unreadable or gave another port, is an
// error.
func findAddress(t transaction.Tree, port int64) (netip.Addr, error) {
	var l webfiles.Listener
	err := unitprogram.Decode(t[NewDaemon("").Path(instanceOf(port), webfiles.ListenerFile)].Content, &l)
	if err == nil && (l.Port != port || !l.Address.IsValid()) {
		err = fmt.Errorf("it is told to listen at %s", l)
	}
	return l.Address, err
}

// readFiles adds to a content whether its files are as they were put there, and the text of one that has no source.
func readFiles(ctx context.Context, h host.Host, c Content) (Content, error) {
	damaged, err := findDamaged(ctx, h, c)
	if err != nil {
		return c, err
	}
	c.Damaged = c.Damaged || len(damaged) > 0
	if sum, only := c.Files[""]; only && c.Source == "" && c.Directory == "" {
		text, err := h.Read(ctx, blobs+"/"+sum)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
		c.Text = string(text[:min(len(text), longestText)])
	}
	return c, nil
}

// findDamaged returns the sums of the content's files that are not there, or are something else.
func findDamaged(ctx context.Context, h host.Host, c Content) ([]string, error) {
	var all []string
	for sums := range slices.Chunk(slices.Compact(slices.Sorted(maps.Values(c.Files))), mostArguments) {
		out, err := h.Run(ctx, host.RepeatableScript("store.sh damaged", script, append([]string{"damaged", blobs}, sums...)...))
		if err != nil {
			return nil, err
		}
		all = append(all, strings.Fields(string(out))...)
	}
	return all, nil
}

// mostArguments is how many sums go into one command.
const mostArguments = 500

// putFiles puts the files on the machine before the configuration names them, and removes afterwards what nothing names. The lock on the
// program, which is held, keeps others from removing what is not named yet.
func putFiles(ctx context.Context, h host.Host, want Content, write func(context.Context, Content) (Content, error)) (got Content, err error) {
	if want, err = want.Complete(); err != nil {
		return want, err
	}
	defer func() { err = errors.Join(err, collectFiles(context.WithoutCancel(ctx), h)) }()
	damaged, err := findDamaged(ctx, h, want)
	if err != nil {
		return want, err
	}
	for _, below := range slices.Sorted(maps.Keys(want.Files)) {
		if i := slices.Index(damaged, want.Files[below]); i >= 0 {
			if err := sendFile(ctx, h, want, below); err != nil {
				return want, fmt.Errorf("put %s on %s: %w", want.Path, h, err)
			}
			damaged = slices.Delete(damaged, i, i+1)
		}
	}
	return write(ctx, want)
}

// pieceLength is how much of a file goes into one command.
const pieceLength = 8 << 20

// sendFile brings a file to the machine, piece by piece.
func sendFile(ctx context.Context, h host.Host, want Content, below string) error {
	from, err := want.openFile(ctx, below)
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
		cmd := host.ScriptWithInput("append.sh", appendScript, piece[:n], blobs, sum, strconv.FormatInt(offset, 10))
		cmd.Repeatable = true // the offset says what it follows
		if _, err := h.Run(ctx, cmd); err != nil {
			return err
		}
		offset += int64(n)
	}
	_, err = h.Run(ctx, host.Script("store.sh finish", script, "finish", blobs, sum))
	return err
}

// collectFiles removes the files that no content names.
func collectFiles(ctx context.Context, h host.Host) error {
	_, err := h.Run(ctx, host.RepeatableScript("store.sh collect", script, "collect", blobs, directory))
	return err
}
