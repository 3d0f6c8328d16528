package ovn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// serverOf is a machine whose servers say of themselves what row has: none where it refuses connections. members is its MembersFile.
type serverOf struct {
	name    string
	row     func() string
	members string
}

func (s serverOf) Read(_ context.Context, path string) ([]byte, error) {
	if path != MembersFile || s.members == "" {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(s.members), nil
}

func (s serverOf) String() string { return s.name }

func (s serverOf) DialUnix(context.Context, string) (net.Conn, error) {
	if s.row == nil {
		return nil, &fs.PathError{Op: "dial", Path: NorthDB.Socket, Err: fs.ErrNotExist}
	}
	near, far := net.Pipe()
	go func() {
		defer func() { _ = far.Close() }()
		var question struct {
			Method string
			Params []any
			ID     any
		}
		if json.NewDecoder(far).Decode(&question) == nil && question.Method == "transact" && question.Params[0] == "_Server" {
			_, _ = fmt.Fprintf(far, `{"id":%q,"error":null,"result":[{"rows":[%s]}]}`, question.ID, s.row())
		}
	}()
	return near, nil
}

func says(row string) func() string { return func() string { return row } }

const (
	leading   = `{"model":"clustered","leader":true,"connected":true}`
	following = `{"model":"clustered","leader":false,"connected":true}`
	deposed   = `{"model":"clustered","leader":true,"connected":false}`
	lone      = `{"model":"standalone","leader":true,"connected":true}`
)

func TestWhatAServerIsToADatabase(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]standing{leading: leads, following: follows, deposed: follows, lone: alone, "": follows} {
		t.Run(row, func(t *testing.T) {
			if got, err := askStanding(t.Context(), serverOf{name: "m", row: says(row)}, NorthDB); err != nil || got != want {
				t.Errorf("it is %d, want %d: %v", got, want, err)
			}
		})
	}
}

// placesOf are the machines a, b and c with these rows; a is the one that OVN is known by.
func placesOf(rows ...func() string) (*places, []string) {
	machines := map[string]serverOf{}
	var members []string
	for i, row := range rows {
		name := string(rune('a' + i))
		machines[name] = serverOf{name: name, row: row}
		members = append(members, name)
	}
	p := &places{first: machines["a"], reach: func(ctx context.Context, endpoint string) (Machine, error) {
		if machines[endpoint].row == nil && endpoint == "c" { // it is cut off
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return machines[endpoint], nil
	}}
	return p, members
}

func TestTheLeaderIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows []func() string
		want string
	}{
		"one of three":                    {[]func() string{says(following), says(leading), says(following)}, "b"},
		"beside a dead and a lost one":    {[]func() string{nil, says(leading), nil}, "b"},
		"the first one is still alone":    {[]func() string{says(lone), says(lone), says(lone)}, "a"},
		"another one that stands alone":   {[]func() string{says(leading), says(lone), says(following)}, "a"},
		"after an election":               {[]func() string{says(following), later(following, leading), nil}, "b"},
		"one that stopped to lead itself": {[]func() string{says(deposed), says(following), says(leading)}, "c"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), dialLimit)
				defer cancel()
				p, members := placesOf(c.rows...)
				m, err := p.findLeader(ctx, NorthDB, members)
				if err != nil || m.String() != c.want {
					t.Errorf("%v, %v", m, err)
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}

// later says the second row from the fourth question on.
func later(first, then string) func() string {
	asked := 0
	return func() string {
		if asked++; asked > 3 {
			return then
		}
		return first
	}
}

func TestNobodyLeads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, members := placesOf(says(following), nil, nil)
		ctx, cancel := context.WithTimeout(t.Context(), dialLimit)
		defer cancel()
		began := time.Now()
		_, err := p.findLeader(ctx, NorthDB, members)
		if leaderless, is := errors.AsType[*LeaderlessError](err); !is || !strings.Contains(leaderless.Error(), "has no leader: 1 of its 3 machines answer, and 2 have to") || time.Since(began) > dialLimit {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p, members := placesOf(nil, nil)
		if _, err := p.findLeader(t.Context(), NorthDB, members); !errors.As(err, new(*StoppedError)) {
			t.Errorf("all are stopped: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a run was killed while it made the first one's database one of a cluster
		p, members := placesOf(nil, says(lone), says(lone))
		ctx, cancel := context.WithTimeout(t.Context(), dialLimit)
		defer cancel()
		if _, err := p.findLeader(ctx, NorthDB, members); !errors.As(err, new(*StoppedError)) {
			t.Errorf("the first one is stopped, and the others are in no cluster: %v", err)
		}
	})
}

func TestTheNotesNameTheMachines(t *testing.T) {
	t.Parallel()
	got := listMembers(map[string]string{MemberKey + "10.0.0.1": "ssh://a", MemberKey + "10.0.0.2": "ssh://b", "virtcluster-chassis-x": "endpoint=ssh://c", markKey: "owner=y"})
	p := &places{}
	if len(got) != 2 || !p.setMembers(got) || p.setMembers([]string{got[1], got[0]}) || len(p.listAll()) != 2 {
		t.Errorf("%q, %q", got, p.listAll())
	}
	if !p.setMembers(got[:1]) || p.listAll() != nil {
		t.Errorf("one machine is a cluster: %q", p.listAll())
	}
}

func TestADeadMachineSaysWhereTheOthersAre(t *testing.T) {
	t.Parallel()
	p, _ := placesOf(nil, nil)
	if _, err := (&Database{kind: NorthDB, places: p}).connect(t.Context()); !errors.As(err, new(*StoppedError)) || strings.Contains(err.Error(), "b: ") {
		t.Errorf("one that knows nobody: %v", err)
	}
	p.first = serverOf{name: "a", members: "a\nb\n"}
	if _, err := (&Database{kind: NorthDB, places: p}).connect(t.Context()); !errors.As(err, new(*StoppedError)) || !strings.Contains(err.Error(), "b: ") {
		t.Errorf("the other one is not asked: %v", err)
	}
	if _, err := NewDatabase(p.first, SwitchDB).connect(t.Context()); !errors.As(err, new(*StoppedError)) {
		t.Errorf("a database of one machine: %v", err)
	}
}
