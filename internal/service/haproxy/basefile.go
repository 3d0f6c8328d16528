package haproxy

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

const (
	// adminSocket is where the provider's global section opens the runtime API, where the distribution's
	// has none that may change servers. /run is there on every machine, a subdirectory is not.
	adminSocket = "stats socket /run/haproxy-virtcluster.sock mode 600 level admin expose-fd listeners"
	// offMark stands before a line of a person's global section that a setting of Base replaces.
	offMark = "#virtcluster-off#"
	// healthName and statsName are the base's listeners.
	healthName = "virtcluster-health"
	statsName  = "virtcluster-stats"
	// Notes stand as comments in the statistics listener.
	passwordNote = "# " + markPrefix + "password"
	modeNote     = "# " + markPrefix + "mode"
)

// readBase reads the base back; false when the provider's sections are not there.
func (d *document) readBase() (Base, bool) {
	var b Base
	defaults, ok := d.findMarked("defaults")
	if !ok {
		return b, false
	}
	b.DefaultsExtra = parseBody(b.defaultsDirectives(), d.bodyOf(defaults))
	if s, ok := d.findMarked("global"); ok {
		body := slices.DeleteFunc(slices.Clone(d.bodyOf(s)), func(line string) bool { return strings.TrimSpace(line) == adminSocket })
		b.Extra = parseBody(b.globalDirectives(), body)
	}
	d.readOverruled(&b)
	if h := (&Health{}); d.readListener("health", h.directiveTable()) {
		b.Health = h
	}
	if s := (&Stats{}); d.readListener("stats", s.directiveTable()) {
		found, _ := d.findMarked("stats")
		s.PasswordVersion = passwordVersion(d.bodyOf(found), s.Password)
		b.Stats = s
	}
	return b, true
}

// isBaseWhole says whether a tree has the lines of the base that no attribute says: proxies log, and a socket changes servers.
func isBaseWhole(t transaction.Tree) bool {
	d := parseDocument(t[ConfigPath].Content)
	_, answers := d.findSocket(isAdminSocket)
	defaults, _ := d.findMarked("defaults")
	return answers && slices.ContainsFunc(d.bodyOf(defaults), func(line string) bool { return oneLine(line) == "log global" })
}

// readListener reads one of the base's listeners. One that somebody took lines out of, or added some to that no attribute says, is none: it does
// something else.
func (d *document) readListener(mark string, table []directive) bool {
	s, ok := d.findMarked(mark)
	if !ok || len(parseBody(table, d.bodyOf(s))) > 0 {
		return false
	}
	significant := slices.DeleteFunc(slices.Clone(d.bodyOf(s)), func(line string) bool { return !isSignificant(line) })
	return len(significant) == len(renderBody(table))
}

// readOverruled reads settings that a person's global section takes over from the provider's, being first.
func (d *document) readOverruled(b *Base) {
	var theirs Base
	for _, line := range d.foreignGlobal() {
		takeLine(theirs.globalDirectives(), strings.TrimSpace(d.lines[line]))
	}
	if b.Maxconn != 0 && theirs.Maxconn != 0 {
		b.Maxconn = theirs.Maxconn
	}
	if len(b.Log) > 0 {
		b.Log = append(theirs.Log, b.Log...)
	}
}

// foreignGlobal lists the lines of the global sections that the provider did not write.
func (d *document) foreignGlobal() []int {
	var found []int
	for _, s := range d.listSections() {
		for i := s.body; i < s.end && s.kind == "global" && s.mark == ""; i++ {
			found = append(found, i)
		}
	}
	return found
}

// putBase writes the base's sections, as an owner's, and switches off what they replace.
func (d *document) putBase(b Base, by owner.Mark, originalMode fs.FileMode) {
	d.restoreGlobal()
	global := renderBody(b.globalDirectives())
	for _, i := range d.foreignGlobal() {
		words, _ := rawWords(d.lines[i])
		if len(words) == 0 {
			continue
		}
		if words[0] == "maxconn" && b.Maxconn != 0 || words[0] == "log" && len(b.Log) > 0 {
			d.lines[i] = offMark + d.lines[i]
		}
	}
	d.setBaseSection("global", by, "global", global)
	if _, there := d.findSocket(isAdminSocket); !there {
		d.setBaseSection("global", by, "global", append(global, adminSocket))
	}
	defaults := func() { d.setBaseSection("defaults", by, "defaults", renderBody(b.defaultsDirectives())) }
	if _, ok := d.findMarked("defaults"); ok {
		defaults()
	} else {
		d.moveProxies(defaults)
	}
	if h := b.Health; h != nil {
		d.setBaseSection("health", by, "listen "+healthName, renderBody(h.directiveTable()))
	} else {
		d.dropMarked("health")
	}
	if s := b.Stats; s != nil {
		var notes []string
		if s.User != "" {
			notes = append(notes, fmt.Sprintf("%s %04o", modeNote, originalMode))
		}
		if s.PasswordVersion > 0 {
			notes = append(notes, newPasswordNote(s.PasswordVersion, s.Password))
		}
		d.setBaseSection("stats", by, "listen "+statsName, append(notes, renderBody(s.directiveTable())...))
	} else {
		d.dropMarked("stats")
	}
}

// setBaseSection puts one of the base's sections.
func (d *document) setBaseSection(mark string, by owner.Mark, header string, body []string) {
	var old *section
	if s, ok := d.findMarked(mark); ok {
		old = &s
	}
	d.putSection(mark, by, "", header, body, old)
}

// dropMarked drops a section of the base's, where it is there.
func (d *document) dropMarked(mark string) {
	if s, ok := d.findMarked(mark); ok {
		d.dropSection(s)
	}
}

func (d *document) dropBase() {
	d.moveProxies(func() {
		for _, mark := range []string{"stats", "health", "defaults", "global"} {
			d.dropMarked(mark)
		}
	})
	d.restoreGlobal()
}

func (d *document) restoreGlobal() {
	for i, line := range d.lines {
		d.lines[i] = strings.TrimPrefix(line, offMark)
	}
}

// newPasswordNote ties a version to a password by a salted hash, so that a password which a person changed
// in the file shows, although no state holds it. The file is as secret as the password in it.
func newPasswordNote(version int64, password string) string {
	salt := rand.Text()[:8]
	return fmt.Sprintf("%s %d %s %s", passwordNote, version, salt, passwordHash(salt, password))
}

func passwordHash(salt, password string) string {
	sum := sha256.Sum256([]byte(salt + password))
	return hex.EncodeToString(sum[:])
}

// passwordVersion reads the note: 0 without one, -1 when the password is not the one that was noted.
func passwordVersion(body []string, password string) int64 {
	for _, line := range body {
		note, ok := cutKeyword(line, passwordNote)
		if !ok {
			continue
		}
		words := strings.Fields(note)
		if len(words) != 3 || subtle.ConstantTimeCompare([]byte(words[2]), []byte(passwordHash(words[1], password))) != 1 {
			return -1
		}
		version, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			return -1
		}
		return version
	}
	return 0
}

// originalMode is the file's mode from before a password came into it; 0 without a note.
func (d *document) originalMode() fs.FileMode {
	s, ok := d.findMarked("stats")
	if !ok {
		return 0
	}
	for _, line := range d.bodyOf(s) {
		if note, ok := cutKeyword(line, modeNote); ok {
			if mode, err := strconv.ParseUint(note, 8, 9); err == nil {
				return fs.FileMode(mode)
			}
		}
	}
	return 0
}

// secretMode takes a file from the world once a password is in it.
func secretMode(mode fs.FileMode) fs.FileMode { return mode &^ 0o007 }
