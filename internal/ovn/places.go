package ovn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ovn-kubernetes/libovsdb/ovsdb/serverdb"
)

// places are the machines that have the databases of one OVN: several have one cluster of each (ovsdb(7), Clustered Database Service Model).
type places struct {
	first Machine
	reach func(ctx context.Context, endpoint string) (Machine, error)

	mu sync.Mutex
	// members are the endpoints of all machines of the cluster, none where the first one is alone or the others are not known; told says that somebody
	// knew.
	members []string
	told    bool
}

func (p *places) listAll() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.members)
}

// setMembers notes the machines of a cluster; fewer than two are none. It says whether these are others than before.
func (p *places) setMembers(endpoints []string) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = true
	endpoints = slices.Sorted(slices.Values(endpoints))
	if len(endpoints) < 2 {
		endpoints = nil
	}
	changed = !slices.Equal(p.members, endpoints)
	p.members = endpoints
	return changed
}

// learnMembers is setMembers where nobody has set anything.
func (p *places) learnMembers(endpoints []string) {
	p.mu.Lock()
	told := p.told
	p.mu.Unlock()
	if !told {
		p.setMembers(endpoints)
	}
}

// MemberKey is the key of external_ids of NB_Global under which each machine of a cluster is noted: its address stands behind it, and its endpoint is
// the value. One that is alone is not noted.
const MemberKey = markKey + "-central-"

// listMembers returns the endpoints of the machines that NB_Global notes.
func listMembers(notes map[string]string) (endpoints []string) {
	for key, endpoint := range notes {
		if strings.HasPrefix(key, MemberKey) {
			endpoints = append(endpoints, endpoint)
		}
	}
	return endpoints
}

// MembersFile has the endpoints of all machines of a cluster, a line each, on every one of them: who finds the servers of that one machine dead by which
// OVN is known reads there where the others are.
const MembersFile = "/var/lib/virtcluster/ovn/members"

// askMachine notes the members that the first machine's file names, where its databases cannot be asked. It says whether these are others than before.
func (p *places) askMachine(ctx context.Context) (changed bool) {
	if p.reach == nil { // a database that is on one machine alone
		return false
	}
	text, err := p.first.Read(ctx, MembersFile)
	return err == nil && p.setMembers(strings.Fields(string(text)))
}

// standing is what a server is to a database.
type standing int

const (
	// alone: it has the database for itself.
	alone standing = iota
	leads
	// follows: another one leads the cluster, or nobody yet.
	follows
)

// probeInterval is how long a server is let alone that does not lead, and probeLimit how long it may take to answer.
const (
	probeInterval = 200 * time.Millisecond
	probeLimit    = 10 * time.Second
)

// hopelessLimit is how long the others of a cluster are waited for once most of it does not answer.
const hopelessLimit = 2 * time.Second

// LeaderlessError says that no machine of a cluster leads it.
type LeaderlessError struct {
	Database string
	// Followers are how many machines answer, of Members.
	Followers, Members int
	Err                error
}

func (e *LeaderlessError) Error() string {
	text := fmt.Sprintf("%s has no leader: %d of its %d machines answer, and %d have to", e.Database, e.Followers, e.Members, e.Members/2+1)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns what the machines said that do not answer.
func (e *LeaderlessError) Unwrap() error { return e.Err }

// findLeader returns the machine that leads the cluster of a database, which it waits for: an election takes some seconds. All machines are asked
// side by side, as one that is gone takes long to say so. The one by which OVN is known counts too where its database is no cluster: it is to become
// one.
func (p *places) findLeader(ctx context.Context, k Kind, members []string) (Machine, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		machine Machine
		err     error
	}
	answers := make(chan answer, len(members))
	for _, endpoint := range members {
		go func() {
			m, err := p.awaitLeading(ctx, k, endpoint)
			answers <- answer{m, err}
		}()
	}
	var errs []error
	followers := 0
	for range members {
		a := <-answers
		switch {
		case a.err == nil:
			return a.machine, nil
		case errors.Is(a.err, errFollows):
			followers++
		case errors.Is(a.err, errApart): // who is to make it a member was interrupted: it has no part in an election
		default:
			if errs = append(errs, a.err); 2*len(errs) > len(members) { // no election comes to its end without these
				defer time.AfterFunc(hopelessLimit, cancel).Stop()
			}
		}
	}
	if err := errors.Join(errs...); followers == 0 && !slices.ContainsFunc(errs, func(err error) bool { return !isRefusal(err) }) {
		return nil, &StoppedError{Err: err}
	}
	return nil, &LeaderlessError{Database: k.Name, Followers: followers, Members: len(members), Err: errors.Join(errs...)}
}

// errFollows says that a machine did not come to lead as long as it was waited for.
var errFollows = errors.New("another machine leads, or none")

// errApart says that a machine which OVN is not known by has the database for itself, and is in no cluster as long as it was waited for.
var errApart = errors.New("it is not in the cluster yet")

// awaitLeading returns the machine of an endpoint once it leads.
func (p *places) awaitLeading(ctx context.Context, k Kind, endpoint string) (Machine, error) {
	m, err := p.reach(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	waitedFor := errFollows
	for {
		is, err := askStanding(ctx, m, k)
		switch {
		case err != nil && ctx.Err() == nil:
			return nil, fmt.Errorf("%s: %w", m, err)
		case err == nil && (is == leads || is == alone && m.String() == p.first.String()):
			return m, nil
		case err == nil && is == alone:
			waitedFor = errApart
		case err == nil:
			waitedFor = errFollows
		}
		select {
		case <-ctx.Done():
			return nil, waitedFor
		case <-time.After(probeInterval):
		}
	}
}

// askStanding asks the server of a database what it is to it (ovsdb-server(5), the database _Server).
func askStanding(ctx context.Context, m Machine, k Kind) (standing, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	connection, err := m.DialUnix(ctx, k.Socket)
	if err != nil {
		return 0, err
	}
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	defer func() { _ = connection.Close() }()
	return readStanding(connection, k)
}

func readStanding(connection net.Conn, k Kind) (standing, error) {
	question := map[string]any{"method": "transact", "id": "standing", "params": []any{serverdb.Schema().Name, map[string]any{
		"op": "select", "table": serverdb.DatabaseTable, "where": [][]any{{"name", "==", k.Name}}, "columns": []string{"model", "leader", "connected"},
	}}}
	if err := json.NewEncoder(connection).Encode(question); err != nil {
		return 0, err
	}
	var reply struct {
		Result []struct {
			Rows []struct {
				Model             string
				Leader, Connected bool
			}
		}
		Error any
	}
	if err := json.NewDecoder(connection).Decode(&reply); err != nil {
		return 0, err
	}
	switch {
	case reply.Error != nil || len(reply.Result) != 1:
		return 0, fmt.Errorf("asked what it is to %s, the server answered %v", k.Name, reply.Error)
	case len(reply.Result[0].Rows) == 0: // it is about to join a cluster, or has just left one
		return follows, nil
	case reply.Result[0].Rows[0].Model != serverdb.DatabaseModelClustered:
		return alone, nil
	case reply.Result[0].Rows[0].Leader && reply.Result[0].Rows[0].Connected:
		return leads, nil
	}
	return follows, nil
}
