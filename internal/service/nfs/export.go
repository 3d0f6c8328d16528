// Package nfs is what a machine's NFS server exports: for each directory a file of the provider's own in /etc/exports.d.
package nfs

import (
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Export is a directory, and who may mount it.
type Export struct {
	Path string `attr:"path"`
	// Clients in the order in which the server looks at them; the first that matches counts.
	Clients []Client `attr:"clients"`
	// Create makes the directory where it is missing.
	Create bool `attr:"create"`
	// Owner, Group and Permissions ("0755") are the directory's; "" for whatever they are.
	Owner       string `attr:"owner"`
	Group       string `attr:"group"`
	Permissions string `attr:"permissions"`
}

// Client is who may mount, and how (exports(5)).
type Client struct {
	// Match is an address, a prefix, a host name which may have wildcards, "@netgroup", or "*" for everybody.
	Match string `attr:"match"`
	// Options are words such as "rw" and "no_root_squash"; none means exports(5)'s own defaults.
	Options []string `attr:"options"`
}

// flags are options without a value, each with the one that it contradicts.
var flags = map[string]string{
	"rw": "ro", "ro": "rw", "sync": "async", "async": "sync", "secure": "insecure", "insecure": "secure", "wdelay": "no_wdelay", "no_wdelay": "wdelay",
	"hide": "nohide", "nohide": "hide", "subtree_check": "no_subtree_check", "no_subtree_check": "subtree_check", "root_squash": "no_root_squash",
	"no_root_squash": "root_squash", "all_squash": "no_all_squash", "no_all_squash": "all_squash", "acl": "no_acl", "no_acl": "acl",
	"pnfs": "no_pnfs", "no_pnfs": "pnfs", "secure_locks": "insecure_locks", "insecure_locks": "secure_locks", "auth_nlm": "no_auth_nlm", "no_auth_nlm": "auth_nlm",
	"crossmnt": "", "security_label": "", "mountpoint": "", "mp": "",
}

// settings are options with a value, and what that looks like.
var settings = map[string]*regexp.Regexp{
	"anonuid": regexp.MustCompile(`^-?[0-9]{1,10}$`), "anongid": regexp.MustCompile(`^-?[0-9]{1,10}$`),
	"fsid": regexp.MustCompile(`^([0-9]{1,10}|root|[0-9a-fA-F-]{32,36})$`), "sec": regexp.MustCompile(`^(sys|none|krb5|krb5i|krb5p)(:(sys|none|krb5|krb5i|krb5p))*$`),
	"mountpoint": regexp.MustCompile(`^/[A-Za-z0-9_./-]*$`), "mp": regexp.MustCompile(`^/[A-Za-z0-9_./-]*$`),
	"refer": regexp.MustCompile(`^/[A-Za-z0-9_./@:+-]*$`), "replicas": regexp.MustCompile(`^/[A-Za-z0-9_./@:+-]*$`), "xprtsec": regexp.MustCompile(`^(none|tls|mtls)(:(none|tls|mtls))*$`),
}

// CheckOption refuses what is no option of exports(5).
func CheckOption(text string) error {
	name, value, valued := strings.Cut(text, "=")
	if form := settings[name]; valued && form != nil && form.MatchString(value) {
		return nil
	}
	if _, flag := flags[name]; flag && !valued {
		return nil
	}
	return fmt.Errorf("%q is no option of exports(5): write one such as rw, sync, no_root_squash or anonuid=65534", text)
}

var clientForm = regexp.MustCompile(`^@?[A-Za-z0-9*?._\[\]-]+$`)

// CheckClient refuses what exports(5) does not take for a client.
func CheckClient(text string) error {
	if _, err := netip.ParsePrefix(text); err == nil {
		return nil
	}
	if _, err := service.ParseAddress(text); err == nil || clientForm.MatchString(text) && strings.Trim(text, "-") == text {
		return nil
	}
	return fmt.Errorf("write an address, a prefix such as 10.0.0.0/24, a host name, a pattern such as *.example.com, @netgroup or *, not %q", text)
}

var pathForm = regexp.MustCompile(`^(/[A-Za-z0-9._@:+=, -]+)+$`)

// CheckPath refuses what is no directory to be exported.
func CheckPath(text string) error {
	if !pathForm.MatchString(text) || path.Clean(text) != text || len(text) > 180 || strings.HasSuffix(text, " ") {
		return fmt.Errorf("write the absolute path of a directory below /, of letters, digits, blanks and . _ @ : + = , - without a slash at its end, not %q", text)
	}
	for _, machines := range []string{"/proc", "/sys", "/dev"} {
		if text == machines || strings.HasPrefix(text, machines+"/") {
			return fmt.Errorf("%s is the kernel's, and no NFS server exports it", text)
		}
	}
	return nil
}

// CheckUser refuses what is neither a user's or a group's name nor a number.
var CheckUser = service.NewForm(`^([A-Za-z_][A-Za-z0-9_.-]*\$?|[0-9]{1,10})?$`, "write a name or a number")

// CheckPermissions refuses what is no mode of a directory.
var CheckPermissions = service.NewForm(`^([0-7]{3,4})?$`, "write octal digits such as 0755")

// Validate finds what no server would export, which nothing else tries out: exportfs has no dry run.
func (e Export) Validate() []service.Problem {
	var problems []service.Problem
	add := func(err error, summary string, at ...any) {
		if err != nil {
			problems = append(problems, service.Problemf(at, summary, "%v", err))
		}
	}
	add(CheckPath(e.Path), "Invalid path", "path")
	add(CheckUser(e.Owner), "Invalid owner", "owner")
	add(CheckUser(e.Group), "Invalid group", "group")
	add(CheckPermissions(e.Permissions), "Invalid permissions", "permissions")
	if len(e.Clients) == 0 {
		problems = append(problems, service.Problemf([]any{"clients"}, "No clients", "name at least one client"))
	}
	for i, c := range e.Clients {
		at := []any{"clients", i}
		add(CheckClient(c.Match), "Invalid client", append(at, "match")...)
		if slices.ContainsFunc(e.Clients[:i], func(o Client) bool { return canonicalMatch(o.Match) == canonicalMatch(c.Match) }) {
			problems = append(problems, service.Problemf(append(at, "match"), "Duplicate client", "%s is listed twice, and the server looks at the first only", c.Match))
		}
		for n, option := range c.Options {
			here := append(slices.Clone(at), "options", n)
			add(CheckOption(option), "Invalid option", here...)
			name, _, _ := strings.Cut(option, "=")
			if other := flags[name]; other != "" && slices.Contains(c.Options[:n], other) {
				problems = append(problems, service.Problemf(here, "Contradiction", "%s and %s contradict each other: leave one of them out", other, option))
			}
		}
		if c.isEverybody() && slices.Contains(c.Options, "no_root_squash") {
			problems = append(problems, service.Warningf(append(at, "match"), "Everybody is root",
				"%s is every machine, and no_root_squash lets root of each of them read and change all of %s as root: name the machines that may, or leave out no_root_squash", c.Match, e.Path))
		}
	}
	return problems
}

// isEverybody says whether a client is the whole world.
func (c Client) isEverybody() bool {
	if p, err := netip.ParsePrefix(c.Match); err == nil {
		return p.Bits() == 0
	}
	return c.Match != "" && strings.Trim(c.Match, "*?.") == ""
}

// isAmong says whether a client is among those that exportfs tells, which has the names of hosts in its own way: one that a name leads to, or that an
// address has. A host counts as one of them where there is any.
func (c Client) isAmong(exported []string) bool {
	return slices.ContainsFunc(exported, func(told string) bool {
		return strings.EqualFold(canonicalMatch(told), canonicalMatch(c.Match)) || c.isHost() && Client{Match: told}.isHost() || c.Match == "*" && told == "<world>"
	})
}

// isHost says whether a client is one host, by its name or address.
func (c Client) isHost() bool {
	_, err := netip.ParsePrefix(c.Match)
	return err != nil && !strings.HasPrefix(c.Match, "@") && !strings.ContainsAny(c.Match, "*?[<")
}

// canonicalMatch spells an address or a prefix as such.
func canonicalMatch(match string) string {
	if p, err := netip.ParsePrefix(match); err == nil {
		return p.Masked().String()
	}
	if a, err := netip.ParseAddr(match); err == nil {
		return a.Unmap().String()
	}
	return match
}

// Uses implements plan.User: a directory is exported once.
func (e Export) Uses() []plan.Use {
	return []plan.Use{{Kind: plan.NFSExport, Value: e.Path, Path: []any{"path"}}}
}
