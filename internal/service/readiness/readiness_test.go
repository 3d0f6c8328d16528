package readiness

import (
	"context"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// wait waits; where it is to fail, the first reason ends it, so that a slow computer is no other case.
func wait(t *testing.T, c Condition, fails bool) (answer string, told []string, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.Interval, c.Timeout = 5*time.Millisecond, time.Minute
	answer, err = Wait(ctx, Here{}, c, func(reason string) {
		told = append(told, reason)
		if fails {
			cancel()
		}
	})
	return answer, told, err
}

func TestWaitsUntilTheAnswerIsTheOneThatIsMeant(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 4 {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("etcd is\nstarting"))
			return
		}
		_, _ = w.Write([]byte("ok"))
	}))
	defer server.Close()
	answer, told, err := wait(t, Condition{URL: server.URL, Body: "^ok$"}, false)
	if err != nil || answer != "200 OK" {
		t.Fatalf("%q, %v", answer, err)
	}
	if len(told) != 1 || told[0] != "it answers 503 Service Unavailable: etcd is starting" {
		t.Errorf("told %q: each reason once", told)
	}
}

func TestSaysTheLastReasonWhenTheTimeIsUp(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer server.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for name, c := range map[string]struct {
		condition Condition
		want      string
	}{
		"status":              {Condition{URL: server.URL, CACertificate: ca}, "it answers 403 Forbidden"},
		"unknown certificate": {Condition{URL: server.URL}, "certificate"},
		"closed port":         {Condition{TCP: closedPort(t)}, "refused"},
		"name":                {Condition{DNS: "name.invalid"}, "name.invalid"},
		"other addresses":     {Condition{DNS: "localhost", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}, "not 10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := wait(t, c.condition, true)
			var late *NotReadyError
			if !errors.As(err, &late) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), c.condition.Target()+" is not ready after") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for name, c := range map[string]Condition{
		"status":    {URL: server.URL, CACertificate: ca, Status: []int64{403}},
		"insecure":  {URL: server.URL, Insecure: true, Status: []int64{200, 403}},
		"port":      {TCP: server.Listener.Addr().String()},
		"localhost": {DNS: "localhost"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := wait(t, c, false); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	return l.Addr().String()
}

func TestAQuestionThatHangsIsBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	began := time.Now()
	short := Condition{URL: server.URL, Interval: time.Millisecond, Timeout: 50 * time.Millisecond}
	if _, err := Wait(t.Context(), Here{}, short, func(string) {}); err == nil || time.Since(began) > 30*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Wait(ctx, Here{}, Condition{URL: server.URL, Interval: time.Hour, Timeout: time.Hour}, func(string) {}); err == nil {
		t.Error("a run that was cancelled goes on")
	}
}

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		condition Condition
		at        string
	}{
		"url":         {Condition{URL: "api.okd.example:6443"}, "url"},
		"password":    {Condition{URL: "https://a:b@api.okd.example"}, "url"},
		"port":        {Condition{TCP: "api.okd.example"}, "tcp"},
		"port 0":      {Condition{TCP: "api.okd.example:0"}, "tcp"},
		"name":        {Condition{DNS: "a b"}, "dns"},
		"option":      {Condition{DNS: "-a"}, "dns"},
		"body":        {Condition{URL: "http://a", Body: "("}, "expect"},
		"body of tcp": {Condition{TCP: "a:1", Body: "a"}, "expect"},
		"addresses":   {Condition{URL: "http://a", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}, "expect"},
		"certificate": {Condition{URL: "https://a", CACertificate: "x"}, "ca_certificate"},
		"good url":    {Condition{URL: "https://[fd00::1]:6443/readyz?verbose", Body: "ok", Status: []int64{200}}, ""},
		"good tcp":    {Condition{TCP: "[fd00::1]:22"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems := c.condition.Validate()
			if c.at == "" && len(problems) > 0 || c.at != "" && (len(problems) != 1 || problems[0].Path[0] != c.at) {
				t.Errorf("%s: %v", name, problems)
			}
		})
	}
}

// counter counts the questions, and answers them.
type counter int

func (c *counter) Ask(context.Context, Condition) (string, error) {
	*c++
	return "200 OK", nil
}

func TestStoreAsksAtOneMomentOrNever(t *testing.T) {
	t.Parallel()
	for when, want := range map[When]struct {
		answer           string
		made, read, over counter
	}{
		AtCreate:  {"200 OK", 2, 0, 0},
		AtDestroy: {"", 0, 0, 1},
		Never:     {"", 0, 0, 0},
	} {
		t.Run(string(when), func(t *testing.T) {
			t.Parallel()
			var made, read, over counter
			open := func(asked *counter, known Ready) *Store { return NewStore(asked, known, func() bool { return false }) }
			ready := Ready{Condition: Condition{Timeout: time.Minute}, When: when}
			got, err := open(&made, ready).Create(t.Context(), ready)
			if err != nil || got.Answer != want.answer {
				t.Errorf("create: %+v, %v", got, err)
			}
			was := got
			was.When = AtDestroy
			if got, err = open(&made, was).Update(t.Context(), was, ready); err != nil || got.Answer != want.answer {
				t.Errorf("update of what was to be asked at its destroy: %+v, %v", got, err)
			}
			if _, err := open(&read, got).Get(t.Context()); err != nil {
				t.Error(err)
			}
			if err := open(&over, got).Delete(t.Context()); err != nil {
				t.Error(err)
			}
			if made != want.made || read != want.read || over != want.over {
				t.Errorf("asked %d times to make it, %d to read it, %d to remove it, want %d, %d, %d", made, read, over, want.made, want.read, want.over)
			}
		})
	}
}
