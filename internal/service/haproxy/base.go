package haproxy

import (
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Base is what one machine's proxies have in common: the provider's own global and defaults sections, which
// stand beside the distribution's, and two listeners.
type Base struct {
	// Maxconn is the number of connections of the whole process at once; 0 leaves it to HAProxy.
	Maxconn int64 `attr:"maxconn"`
	// Log are log targets, "/dev/log local0". They replace the distribution's; none keeps these.
	Log []string
	// Extra are further lines of the global section, DefaultsExtra of the defaults section.
	Extra, DefaultsExtra []string

	// Mode is "tcp" or "http".
	Mode    string `attr:"mode"`
	Retries int64  `attr:"retries"`
	// Options of the defaults are sorted.
	Options []string `attr:"options"`
	// Timeouts by HAProxy's names, times with a unit.
	Timeouts map[string]string

	Health *Health `attr:"health"`
	Stats  *Stats
}

// Health is a listener that answers 200 while HAProxy runs.
type Health struct {
	Bind
	URI string `attr:"uri"`
}

// Stats is a listener with HAProxy's statistics page.
type Stats struct {
	Bind
	URI string `attr:"uri"`
	// User and Password protect the page; both are empty when anyone may see it.
	User     string `attr:"user"`
	Password string `attr:"password"`
	// PasswordVersion is the version of a write-only password, 0 for a password that state may hold. It is
	// read back as -1 when the password in the file is not the one that was written with the version.
	PasswordVersion int64 `attr:"password_wo_version"`
	// Refresh is a time, "10s"; empty does not refresh.
	Refresh     string `attr:"refresh"`
	HideVersion bool   `attr:"hide_version"`
}

// BaseTimeouts are all of HAProxy's timeouts.
var BaseTimeouts = []string{
	"connect", "client", "client-fin", "server", "server-fin", "tunnel", "http-request", "http-keep-alive", "queue", "check", "tarpit",
}

func (b *Base) globalDirectives() []directive {
	return []directive{
		numberDirective("maxconn", "maxconn", &b.Maxconn),
		linesDirective("log", "log", &b.Log),
		extraDirective(&b.Extra),
	}
}

func (b *Base) defaultsDirectives() []directive {
	// Without "log global" a proxy would log nowhere.
	log := directive{"log", "log", func() []string { return []string{"global"} }, func(rest string) bool { return oneLine(rest) == "global" }}
	return slices.Concat(
		[]directive{
			log,
			textDirective("mode", "mode", &b.Mode),
			numberDirective("retries", "retries", &b.Retries),
		},
		timeoutDirectives(&b.Timeouts, BaseTimeouts),
		optionDirectives(&b.Options),
		[]directive{{"", "defaults_extra_config", func() []string { return b.DefaultsExtra }, nil}},
	)
}

func (h *Health) directiveTable() []directive {
	return []directive{
		bindDirective(&h.Bind), fixedDirective("mode", "http"), fixedDirective("option", "dontlognull"), fixedDirective("no option", "log-health-checks"),
		textDirective("monitor-uri", "uri", &h.URI),
	}
}

func (s *Stats) directiveTable() []directive {
	auth := directive{"stats auth", "password",
		func() []string {
			if s.User == "" {
				return nil
			}
			return []string{quoteWord(s.User + ":" + s.Password)}
		},
		func(rest string) bool {
			words, _ := rawWords(rest)
			if len(words) != 1 {
				return false
			}
			s.User, s.Password, _ = strings.Cut(unquoteWord(words[0]), ":")
			return true
		}}
	return []directive{
		bindDirective(&s.Bind), fixedDirective("mode", "http"), fixedDirective("stats", "enable"), textDirective("stats uri", "uri", &s.URI), auth,
		textDirective("stats refresh", "refresh", &s.Refresh), flagDirective("stats hide-version", "hide_version", &s.HideVersion),
	}
}

// bindDirective is the one bind line of a listener.
func bindDirective(value *Bind) directive {
	return directive{"bind", "address",
		func() []string { return []string{value.String()} },
		func(rest string) bool {
			b, ok := parseBind(rest)
			if ok {
				*value = b
			}
			return ok
		}}
}

// fixedDirective is a line that a listener needs to be what it is.
func fixedDirective(keyword, rest string) directive {
	return directive{keyword, "", func() []string { return []string{rest} }, func(got string) bool { return oneLine(got) == rest }}
}

// BaseName names the base configuration in messages.
const BaseName = "HAProxy base configuration"

// NewBasePart returns the part of the configuration that its base is.
func NewBasePart(of part.Identity) part.Part[Base] {
	set := func(t transaction.Tree, want Base) error { return SetBase(t, want, of.Mark) }
	return part.Part[Base]{
		Daemon: Daemon{}, Owner: BaseName, Place: ConfigPath, ImportID: of.ImportID,
		Mark: BaseMark, Find: FindBase, Whole: isBaseWhole,
		Add: set, Set: set,
		Drop: DropBase,
		Secrets: func(want Base) []string {
			if want.Stats == nil || want.Stats.Password == "" {
				return nil
			}
			return []string{want.Stats.Password}
		},
	}
}
