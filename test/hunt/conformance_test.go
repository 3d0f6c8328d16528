package hunt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
)

// errBroken is how requests end from a certain one on.
var errBroken = errors.New("the test broke the connection")

// breakage ends the requests of an apply: all from the so-manieth on. With answered, that one is carried out and its answer is lost.
type breakage struct {
	from     int
	answered bool

	mu   sync.Mutex
	made int
	last string
}

func (b *breakage) String() string {
	how := "is not sent"
	if b.answered {
		how = "has its answer lost"
	}
	if b.last != "" {
		how += ": " + b.last
	}
	return fmt.Sprintf("request %d %s", b.from, how)
}

func (b *breakage) judge(what string, answered bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !answered {
		b.made++
		if b.made == b.from {
			b.last = what
		}
	}
	if b.from > 0 && (b.made > b.from || b.made == b.from && answered == b.answered) {
		return errBroken
	}
	return nil
}

// broken is a life whose first apply breaks. What was made is in the state by then, as long as no answer was lost; the next apply
// makes it whole in any case, and it goes with the destroy. The id is what an import takes.
func (c *core) broken(ctx context.Context, s subject, config cty.Value, b *breakage, id string) error {
	l := &life{core: c, subject: s}
	planned, err := l.plan(ctx, config)
	if err != nil {
		return err
	}
	if err := l.apply(failpoint.WithJudge(ctx, b.judge), planned, config); err == nil {
		return l.leave(ctx)
	}
	var wrong []error
	if l.now == nil && !b.answered && !s.nowhere && c.isThere(ctx, s, id) {
		wrong = append(wrong, errors.New("what was made is not in the state"))
	}
	if err := l.become(ctx, config, config); err != nil {
		wrong = append(wrong, fmt.Errorf("the next apply: %w", err))
	} else if err := l.settled(ctx, config, false); err != nil {
		wrong = append(wrong, err)
	}
	if err := l.leave(ctx); err != nil {
		wrong = append(wrong, err)
	}
	if !s.nowhere && c.isThere(ctx, s, id) {
		wrong = append(wrong, errors.New("it is still there after the destroy"))
	}
	return errors.Join(wrong...)
}

// isThere says whether something can be imported.
func (c *core) isThere(ctx context.Context, s subject, id string) bool {
	return c.walk(ctx, true, func(w *walk) error {
		_, err := w.imports(s.kind, id)
		return err
	}) == nil
}

// countRequests returns how many requests the apply of a subject's base makes, and the id by which it is imported.
func (c *core) countRequests(ctx context.Context, s subject, config cty.Value) (requests int, id string, err error) {
	l, b := &life{core: c, subject: s}, &breakage{}
	planned, err := l.plan(ctx, config)
	if err != nil {
		return 0, "", err
	}
	if err := l.apply(failpoint.WithJudge(ctx, b.judge), planned, config); err != nil {
		return 0, "", err
	}
	id = l.now.value.GetAttr("id").AsString()
	if s.importID != nil {
		id = s.importID(l.now.value)
	}
	return b.made, id, l.leave(ctx)
}

// breakages are those of an apply with so many requests that HUNT_ONLY names: "virtcluster_vip: request 7 is not sent".
func (s settings) breakages(kind string, requests int) []*breakage {
	var all []*breakage
	for from := range requests {
		for _, answered := range []bool{false, true} {
			if b := (&breakage{from: from + 1, answered: answered}); s.only.MatchString(kind + ": " + b.String()) {
				all = append(all, b)
			}
		}
	}
	return all
}

// TestAccWhatABrokenApplyMadeIsInTheState breaks the connections at each request of an apply that makes something, of every type:
// before the request is sent, and after its answer is lost. HUNT_ONLY, HUNT_SEED and HUNT_SECONDS narrow it down.
func TestAccWhatABrokenApplyMadeIsInTheState(t *testing.T) {
	c, made := enterWorld(t)
	set, began := readSettings(t), time.Now()
	lanes := map[string][]subject{}
	for _, s := range subjects() {
		if !strings.HasPrefix(s.kind, dataPrefix) && len(set.breakages(s.kind, 100)) > 0 {
			lanes[cmp.Or(s.lane, s.kind)] = append(lanes[cmp.Or(s.lane, s.kind)], s)
		}
	}
	var all sync.WaitGroup
	for _, lane := range lanes {
		all.Go(func() {
			for _, s := range lane {
				t.Run(s.kind, func(t *testing.T) { c.breakEachRequest(t, s, made, set, began) })
			}
		})
	}
	all.Wait()
}

func (c *core) breakEachRequest(t *testing.T, s subject, made map[string]object, set settings, began time.Time) {
	t.Helper()
	base, _ := resolve(s.base, made).(object)
	config := objectValue(c.types[s.kind], base, true)
	requests, id, err := c.countRequests(t.Context(), s, config)
	if err != nil {
		t.Fatal(err)
	}
	points := set.breakages(s.kind, requests)
	random := rand.New(rand.NewPCG(uint64(set.seed), 1)) //nolint:gosec // an order, not a secret
	random.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	tried := 0
	for _, b := range points {
		if set.over(began) {
			break
		}
		if !s.nowhere && c.isThere(t.Context(), s, id) {
			t.Fatalf("%s is there already", id)
		}
		tried++
		if err := c.broken(t.Context(), s, config, b, id); err != nil {
			t.Errorf("%s: %v", b, err)
		}
	}
	t.Logf("%d requests, %d of %d ways to break them", requests, tried, len(points))
}
