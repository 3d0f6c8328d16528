// Package httpcontent is files that a service node serves by HTTP: the provider's own program in a unit for each port, and what it serves by
// checksums in one directory, so that what several contents have in common is there once.
package httpcontent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Content is what is served under a path.
type Content struct {
	Address netip.Addr
	Port    int64
	Path    string
	// Text, Source or Directory is where it comes from: one of them.
	Text, Source, Directory string
	// Planned is the checksum that it is to have; "" where that is not known.
	Planned string
	// Files are the SHA-256 of all files by their paths below Path, "" for the only one of what is no directory; nil while they are not known.
	Files map[string]string
	// Damaged says that a file, or that of its server, is not as it was put there; it is only read.
	Damaged bool
}

// URL is where clients get it.
func (c Content) URL() string {
	if !c.Address.IsValid() {
		return ""
	}
	return "http://" + net.JoinHostPort(c.Address.String(), strconv.FormatInt(c.Port, 10)) + c.Path
}

// Checksum is the SHA-256 of the file, or of the list of a directory's files as sha256sum prints them in the order of their paths; "" while
// that is not known, or where a file is damaged.
func (c Content) Checksum() string {
	if len(c.Files) == 0 || c.Damaged {
		return ""
	}
	if sum, only := c.Files[""]; only {
		return checksumHead + sum
	}
	list := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		fmt.Fprintf(list, "%s  %s\n", c.Files[name], name)
	}
	return checksumHead + hex.EncodeToString(list.Sum(nil))
}

const checksumHead = "sha256:"

var (
	pathForm     = regexp.MustCompile(`^(/[A-Za-z0-9._~+@=,-]+)+$`)
	checksumForm = regexp.MustCompile(`^sha256:[0-9a-fA-F]{64}$`)
)

// CheckPath refuses what is no path below a server.
func CheckPath(text string) error {
	if pathForm.MatchString(text) && path.Clean(text) == text {
		return nil
	}
	return fmt.Errorf("write a path such as \"/rhcos/kernel\", of letters, digits and . _ ~ + @ = , -, not %q", text)
}

// CheckListen refuses what is no address and port.
func CheckListen(text string) error {
	if at, err := netip.ParseAddrPort(text); err == nil && at.Port() != 0 && at.String() == text {
		return nil
	}
	return fmt.Errorf("write an address and a port such as \"10.0.0.100:8080\", not %q", text)
}

// CheckChecksum refuses what is no checksum.
func CheckChecksum(text string) error {
	if checksumForm.MatchString(text) {
		return nil
	}
	return errors.New("write sha256: and 64 hexadecimal digits")
}

// longestText is the most that a text may have.
const longestText = 1 << 20

// Validate finds what no server would serve.
func (c Content) Validate() []service.Problem {
	if len(c.Text) > longestText {
		return []service.Problem{service.Problemf([]any{"content"}, "Too long", "a text has a mebibyte at the most: write it into a file, and that as source")}
	}
	if c.Address.IsValid() && c.Address.IsUnspecified() {
		return []service.Problem{service.Problemf([]any{"listen"}, "Invalid address", "write the address of the service node that clients reach it by, not %s", c.Address)}
	}
	return nil
}

// Uses implements plan.User: a path of a server has one content.
func (c Content) Uses() []plan.Use {
	if c.Port == 0 || c.Path == "" {
		return nil
	}
	uses := []plan.Use{{Kind: plan.ServedPath, Scope: "port " + instanceOf(c.Port), Value: c.Path, Path: []any{"path"}}}
	if url := c.URL(); url != "" {
		uses = append(uses, plan.Use{Verb: plan.Gives, Kind: plan.ServedURL, Value: url})
	}
	return uses
}

// Complete returns the content with its files. One that has another checksum than is planned, or a local source that cannot be read, is an
// error at its attribute.
func (c Content) Complete() (Content, error) {
	var err error
	switch {
	case c.Text != "":
		c.Files = map[string]string{"": SumOfText(c.Text)}
	case IsURL(c.Source):
		if c.Planned == "" {
			return c, service.At([]any{"checksum"}, errors.New("write the checksum of what is at the URL: it is fetched while it is applied, and nothing else tells what it is to be"))
		}
		c.Files = map[string]string{"": sumOfChecksum(c.Planned)}
	case c.Source != "":
		if c.Files, err = SumFiles(c.Source, ""); err != nil {
			return c, service.At([]any{"source"}, err)
		}
	default:
		if c.Files, err = SumFiles("", c.Directory); err != nil {
			return c, service.At([]any{"directory"}, err)
		}
	}
	if c.Planned != "" && !strings.EqualFold(c.Planned, c.Checksum()) {
		return c, service.At([]any{"checksum"}, fmt.Errorf("it should be %s, and what is to be served has %s: either that changed, or checksum is wrong", c.Planned, c.Checksum()))
	}
	return c, nil
}

// SumOfText is the SHA-256 of a text, in hexadecimal.
func SumOfText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// sumOfChecksum is the sum of a checksum.
func sumOfChecksum(text string) string {
	return strings.ToLower(strings.TrimPrefix(text, checksumHead))
}
