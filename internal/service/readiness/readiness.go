// Package readiness waits until something answers: a URL, a port or a name, asked from this computer or from a machine.
package readiness

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Condition is what is asked, and what counts as ready. One of URL, TCP and DNS is set.
type Condition struct {
	// URL is asked for with GET; redirects are followed. TCP is HOST:PORT, DNS a name.
	URL, TCP, DNS string
	// Status lists the HTTP status codes that count; none are 200 to 299. Body must match the answer's first part, where it is set.
	Status []int64
	Body   string
	// Addresses are what the name must resolve to, in any order; none are any.
	Addresses []netip.Addr
	// CACertificate is what certificates are checked by, as PEM, and nothing else; "" for the authorities of who asks. Insecure takes any.
	CACertificate string
	Insecure      bool
	// Interval lies between the end of a question and the next, and Timeout bounds all of them.
	Interval, Timeout time.Duration
}

// askLimit bounds one question, and bodyLimit what of an answer is looked at.
const (
	askLimit  = 10 * time.Second
	bodyLimit = 1 << 20
)

// Target names what is asked: the URL, tcp://HOST:PORT or dns:NAME.
func (c Condition) Target() string {
	switch {
	case c.TCP != "":
		return "tcp://" + c.TCP
	case c.DNS != "":
		return "dns:" + c.DNS
	}
	return c.URL
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})$`)

// Validate finds what can never be ready.
func (c Condition) Validate() []service.Problem {
	var problems []service.Problem
	report := func(at string, format string, args ...any) {
		problems = append(problems, service.Problemf([]any{at}, "Invalid condition", format, args...))
	}
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			report("url", "write a URL such as \"https://api.okd.example:6443/readyz\", not %q", c.URL)
		}
	}
	if c.TCP != "" {
		host, port, err := net.SplitHostPort(c.TCP)
		n, portErr := strconv.Atoi(port)
		if err != nil || portErr != nil || n < 1 || n > 65535 || !isHost(host) {
			report("tcp", "write HOST:PORT such as \"api.okd.example:6443\" or \"[fd00::1]:22\", not %q", c.TCP)
		}
	}
	if c.DNS != "" && !hostName.MatchString(c.DNS) {
		report("dns", "write a name such as \"api.okd.example\", not %q", c.DNS)
	}
	if c.URL == "" && (len(c.Status) > 0 || c.Body != "" || c.CACertificate != "" || c.Insecure) {
		report("expect", "status, body and certificates are those of a url")
	}
	if c.DNS == "" && len(c.Addresses) > 0 {
		report("expect", "addresses are those of a dns name")
	}
	if _, err := regexp.Compile(c.Body); err != nil {
		report("expect", "body is no regular expression: %s", err)
	}
	if c.CACertificate != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(c.CACertificate)) {
		report("ca_certificate", "write certificates as PEM")
	}
	return problems
}

func isHost(host string) bool {
	_, err := service.ParseAddress(host)
	return err == nil || hostName.MatchString(host)
}

// Asker asks once. The answer is for people; the error says why it is not ready.
type Asker interface {
	Ask(ctx context.Context, c Condition) (answer string, err error)
}

// NotReadyError says that the condition was not met in time.
type NotReadyError struct {
	Target string
	After  time.Duration
	// Last is why, when it was asked last.
	Last error
}

func (e *NotReadyError) Error() string {
	return fmt.Sprintf("%s is not ready after %s: %s", e.Target, e.After.Round(time.Second), e.Last)
}

func (e *NotReadyError) Unwrap() error { return e.Last }

// Wait asks until the condition is met, and returns the answer. Tell hears of each reason that is not the one before it.
func Wait(ctx context.Context, a Asker, c Condition, tell func(reason string)) (string, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	var last error
	for {
		one, stop := context.WithTimeout(ctx, askLimit)
		answer, err := a.Ask(one, c)
		stop()
		if err == nil {
			return answer, nil
		}
		// What the end of the time cut off says less than what was heard before.
		if last == nil || ctx.Err() == nil {
			if last == nil || last.Error() != err.Error() {
				tell(err.Error())
			}
			last = err
		}
		select {
		case <-ctx.Done():
			return "", &NotReadyError{Target: c.Target(), After: time.Since(began), Last: last}
		case <-time.After(c.Interval):
		}
	}
}

// Ready is a condition with what was answered when it was met.
type Ready struct {
	Condition
	Answer string
	When   When
}

// When is the moment at which it is asked. At none, nothing is: who no longer waits for what was to be asked AtDestroy says so.
type When string

// The moments are those of the attribute.
const (
	AtCreate  When = "create"
	AtDestroy When = "destroy"
	Never     When = "never"
)

// Store is a crud.Store of an answer that was given once: nothing keeps it but the state.
type Store struct {
	asker Asker
	known Ready
	// destroysAll says whether this run destroys all that there is.
	destroysAll func() bool
}

// NewStore returns the store of an answer that the state or the plan has, asked for by an asker. destroysAll says whether this run destroys
// all that there is.
func NewStore(asker Asker, known Ready, destroysAll func() bool) *Store {
	return &Store{asker: asker, known: known, destroysAll: destroysAll}
}

// Get returns what the state has, and asks once after an import, which has no answer yet.
func (s *Store) Get(ctx context.Context) (Ready, error) {
	if s.known.Answer != "" || s.known.When != AtCreate {
		return s.known, nil
	}
	answer, err := s.asker.Ask(ctx, s.known.Condition)
	return Ready{Condition: s.known.Condition, Answer: answer}, err
}

// Create waits, unless a destroy does or nobody.
func (s *Store) Create(ctx context.Context, want Ready) (Ready, error) {
	want.Answer = ""
	if want.When != AtCreate {
		return want, nil
	}
	var err error
	want.Answer, err = s.waitReady(ctx, want)
	return want, err
}

// Update waits anew.
func (s *Store) Update(ctx context.Context, _, want Ready) (Ready, error) { return s.Create(ctx, want) }

// Delete has nothing to remove, and waits where it shall: not when all that might stay until then goes as well.
func (s *Store) Delete(ctx context.Context) error {
	if s.known.When != AtDestroy || s.destroysAll() {
		return nil
	}
	if _, err := s.waitReady(ctx, s.known); err != nil {
		return fmt.Errorf("%w; what goes after it stays: to give up waiting, apply with when = \"never\" first, or take it out of the state (terraform state rm)", err)
	}
	return nil
}

func (s *Store) waitReady(ctx context.Context, want Ready) (answer string, err error) {
	return Wait(ctx, s.asker, want.Condition, func(reason string) {
		tflog.Info(ctx, "not ready yet", map[string]any{"target": want.Target(), "reason": reason})
	})
}
