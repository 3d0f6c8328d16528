// Package hunt tries what may stand in the attributes of every resource: each left out, null, empty, in unusual spellings, at its
// limits, unknown at plan; and lives through a plan, an apply, an import, a change, its return and a destroy, with the real daemons
// of the sandbox. The provider runs in the test's process, held to the rules that Terraform's core has for providers.
package hunt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// settings come from the environment: HUNT_ONLY, a regular expression of trials; HUNT_SEVERAL, how many trials with several
// attributes to draw for each subject, from HUNT_SEED on; HUNT_SAMPLE, to try only each so-manieth trial of one attribute;
// HUNT_SECONDS, after which no other life begins; HUNT_LOG, a file of what was tried, which a later hunt continues.
type settings struct {
	only                           *regexp.Regexp
	several, seed, sample, seconds int
	log                            string
}

func readSettings(t *testing.T) settings {
	t.Helper()
	count := func(name string, otherwise int) int {
		n, err := strconv.Atoi(os.Getenv(name))
		if err != nil {
			return otherwise
		}
		return n
	}
	return settings{regexp.MustCompile(os.Getenv("HUNT_ONLY")), count("HUNT_SEVERAL", 0), count("HUNT_SEED", 1), count("HUNT_SAMPLE", 1), count("HUNT_SECONDS", 0), os.Getenv("HUNT_LOG")}
}

// over says whether no other trial is to begin.
func (s settings) over(began time.Time) bool {
	return s.seconds > 0 && time.Since(began) > time.Duration(s.seconds)*time.Second
}

// trials are those of a subject.
func (s settings) trials(c *core, of subject) []trial {
	var all []trial
	for i, m := range of.mutations(c.types[of.kind]) {
		if (i+s.seed)%s.sample == 0 {
			all = append(all, trial{of, []mutation{m}})
		}
	}
	drawn := of.several(c.types[of.kind])
	for i := range s.several {
		if drawn == nil {
			break
		}
		all = append(all, drawn.Example(s.seed*1000003+i))
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(t trial) bool {
		key := fmt.Sprintf("%#v", t.config(c.types[of.kind]))
		again := seen[key]
		seen[key] = true
		return again || !s.only.MatchString(t.String())
	})
}

func TestEveryTypeIsHunted(t *testing.T) {
	c, err := newCore(object{})
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]subject{}
	for _, s := range subjects() {
		of[s.kind] = s
	}
	for kind, attributes := range c.types {
		s, hunted := of[kind]
		if !hunted {
			t.Errorf("%s is the subject of no trial", kind)
			continue
		}
		s.walk(attributes, "", func(path string, a *attribute) {
			_, sampled := s.samples[path]
			_, base := s.base[path]
			if !sampled && !base && a.kind != cty.Bool && a.kind != cty.Number {
				t.Errorf("%s: %s has no sample", kind, path)
			}
		})
	}
}

func TestSeveralAttributesAreDrawnForEachType(t *testing.T) {
	c, err := newCore(object{})
	if err != nil {
		t.Fatal(err)
	}
	set := settings{only: regexp.MustCompile(", "), several: 20, seed: 1, sample: 1}
	for _, s := range subjects() {
		drawn, again := set.trials(c, s), set.trials(c, s)
		if s.several(c.types[s.kind]) != nil && len(drawn) < 5 {
			t.Errorf("%s: only %d", s.kind, len(drawn))
		}
		if fmt.Sprint(drawn) != fmt.Sprint(again) {
			t.Errorf("%s: one seed draws different trials", s.kind)
		}
	}
}

func TestAccHunt(t *testing.T) {
	c, made := enterWorld(t)
	set := readSettings(t)
	began := time.Now()
	n, err := newCount(set.log)
	if err != nil {
		t.Fatal(err)
	}
	lanes := map[string][]trial{}
	for _, s := range subjects() {
		lane := cmp.Or(s.lane, s.kind)
		lanes[lane] = append(lanes[lane], slices.DeleteFunc(set.trials(c, s), n.tried)...)
	}
	lives := plannedTrials(t, c, set, lanes, made, n)
	n.lives(lives)
	var all sync.WaitGroup
	for _, lane := range lives {
		all.Go(func() {
			for _, trial := range lane {
				if set.over(began) {
					return
				}
				start := time.Now()
				o := c.live(t.Context(), trial, made)
				if o.broken != nil { // real daemons on a busy machine miss a deadline now and then
					fmt.Printf("broken at the first try: %s: %v\n", trial, o.broken)
					first := o
					if o = c.live(t.Context(), trial, made); o.broken != nil {
						o.broken = errors.Join(first.broken, o.broken)
					}
				}
				n.add(t, trial, o, time.Since(start))
			}
		})
	}
	all.Wait()
	n.print()
	fmt.Printf("hunted for %s\n", time.Since(began).Round(time.Second))
}

// enterWorld returns a provider that knows the sandbox, and has it hold what the subjects need, until the test ends.
func enterWorld(t *testing.T) (*core, map[string]object) {
	t.Helper()
	acctest.InSandbox(t)
	if err := os.MkdirAll("/run/hunt", 0o755); err != nil { //nolint:gosec // QEMU's user goes through it
		t.Fatal(err)
	}
	c, err := newCore(object{
		"uri": "qemu:///system", "ssh": object{"private_key_file": os.Getenv("SANDBOX_SSH_KEY")}, "hypervisors": object{"other": object{"uri": "qemu:///system"}, "rack": object{"uri": rackURI}},
	})
	if err != nil {
		t.Fatal(err)
	}
	// The device of the subject virtcluster_interface is nobody's.
	acctest.On(t, "svc-4", "sh", "-c", "rm -f /etc/systemd/network/10-eth1.network; networkctl reload; ip addr flush dev eth1; networkctl reconfigure eth1")
	// The sandbox's kernel serves no NFS: what is real there are the files, and the table that exportfs keeps of them.
	acctest.On(t, "svc-3", "sh", "-c", "systemctl unmask nfs-server.service && printf '[Service]\\nType=oneshot\\nRemainAfterExit=yes\\nExecStart=/bin/true\\n' >/etc/systemd/system/nfs-server.service && systemctl daemon-reload && mkdir -p /srv/hunt-nfs")
	answer(t)
	acctest.KnownServiceNodes(t, 5)
	acctest.OfferLibvirt(t, rack)
	return c, makeFixtures(t, c)
}

// answer serves what readiness asks for, until the test ends.
func answer(t *testing.T) {
	t.Helper()
	ok := http.NewServeMux()
	ok.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	ok.HandleFunc("/disc.iso", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(disc()) })
	for at, start := range map[string]func(*httptest.Server){answers: (*httptest.Server).Start, answersTLS: (*httptest.Server).StartTLS} {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(ok)
		_ = s.Listener.Close()
		if s.Listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", u.Host); err != nil {
			t.Fatal(err)
		}
		start(s)
		t.Cleanup(s.Close)
	}
}

// planners is how many plans are made at a time.
const planners = 4

// plannedTrials are those that an offline provider does not refuse at plan, in an order that the seed decides: a hunt that ends early has
// then tried some of each. Most trials are refused, in milliseconds, so that all of these are counted before the first life begins.
func plannedTrials(t *testing.T, c *core, set settings, lanes map[string][]trial, made map[string]object, n *count) map[string][]trial {
	t.Helper()
	var lock sync.Mutex
	lives := map[string][]trial{}
	var all errgroup.Group
	all.SetLimit(planners)
	for lane, trials := range lanes {
		for _, trial := range trials {
			all.Go(func() error {
				start := time.Now()
				if o := c.planned(t.Context(), trial, made); o.atPlan != nil {
					n.add(t, trial, o, time.Since(start))
					return nil
				}
				lock.Lock()
				defer lock.Unlock()
				lives[lane] = append(lives[lane], trial)
				return nil
			})
		}
	}
	_ = all.Wait() // none of them returns an error
	for _, lane := range slices.Sorted(maps.Keys(lives)) {
		slices.SortFunc(lives[lane], func(a, b trial) int { return strings.Compare(a.String(), b.String()) })
		random := rand.New(rand.NewPCG(uint64(set.seed), 0)) //nolint:gosec // an order, not a secret
		random.Shuffle(len(lives[lane]), func(i, j int) { lives[lane][i], lives[lane][j] = lives[lane][j], lives[lane][i] })
	}
	return lives
}

// makeFixtures makes what the subjects need, and has it removed at the end.
func makeFixtures(t *testing.T, c *core) map[string]object {
	t.Helper()
	made := map[string]object{}
	for _, f := range fixtures() {
		of := c.types[f.kind]
		config, _ := resolve(f.config, made).(object)
		l := &life{core: c, subject: subject{kind: f.kind, nowhere: f.kind == "virtcluster_service_node"}}
		v := objectValue(of, config, true)
		if err := l.become(t.Context(), v, v); err != nil {
			t.Fatalf("fixture %s: %v", f.name, err)
		}
		t.Cleanup(func() {
			if err := l.leave(context.Background()); err != nil {
				t.Errorf("fixture %s: %v", f.name, err)
			}
		})
		made[f.name] = object{"id": l.now.value.GetAttr("id").AsString()}
	}
	return made
}
