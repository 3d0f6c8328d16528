package main

import (
	"cmp"
	"hash/crc32"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Job is some tests of one package, which one process runs with one program.
type Job struct {
	CLI     string // terraform or tofu
	Program string // its path
	Root    string // the repository
	Package string // the package's directory in it
	Binary  string // its compiled tests
	Tests   []string
	Subtest string // what -test.run has behind the tests' names
	Limit   int    // in seconds, of all of them together
	Round   int    // the first jobs of all packages are of round 0, and come before the second one of any
}

// jobTests is how many tests a job has, where its package has more than one more: sandboxes that share the work end at the same time, and a
// job in its time.
const jobTests = 4

// splitJob makes jobs of a few tests each.
func splitJob(whole Job) (parts []*Job) {
	size := jobTests
	if len(whole.Tests) <= jobTests+1 {
		size = jobTests + 1
	}
	for tests := range slices.Chunk(whole.Tests, size) {
		part := whole
		part.Tests, part.Round = tests, len(parts)
		parts = append(parts, &part)
	}
	return parts
}

// rotateTests has a package's tests begin at another one with each commit, so that runs that end early see all of them in a few commits.
func rotateTests(tests []string, commit string) []string {
	if len(tests) == 0 {
		return nil
	}
	first := int(crc32.ChecksumIEEE([]byte(commit))) % len(tests)
	return slices.Concat(tests[first:], tests[:first])
}

// kindOf says what the tests of a package may run beside. Tests of machines and tests of services share nothing but the processors. What
// changes and compares all of a machine's network, what looks at every millisecond, and what stops what all others need, has a sandbox of
// its own meanwhile.
func kindOf(directory string) string {
	switch name := path.Base(directory); {
	case strings.HasPrefix(name, "ovn"), name == "migration", name == "openvswitch", directory == "internal/datasources/nodes":
		return hypervisorsKind
	case strings.HasSuffix(name, "bridge"), slices.Contains([]string{"bootprofile", "bootserver", "dhcpserver", "httpcontent", "netinterface", "registry", "resolver", "route", "timeserver"}, name):
		return "networks"
	case slices.Contains([]string{"vip", "bmc", "peer", "rollout", "inventory"}, name), directory == "internal/hypervisor", directory == "internal/datasources/hypervisor":
		return "alone"
	case slices.Contains([]string{"backup", "dhcpreservation", "image", "network", "node", "snapshot", "snapshotrevert", "storagepool", "volume"}, name):
		return "machines"
	}
	return "services"
}

// hypervisorsKind is that of tests that take further hypervisors.
const hypervisorsKind = "hypervisors"

// hasKind says whether a job of a kind waits.
func (q *queue) hasKind(kind string) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return slices.ContainsFunc(q.jobs, func(j *Job) bool { return kindOf(j.Package) == kind })
}

// queue has jobs that lanes take from, until it is empty or its time is over.
type queue struct {
	mutex    sync.Mutex
	jobs     []*Job
	deadline time.Time            // of beginning one; zero is none
	kinds    map[string]time.Time // deadlines of kinds that come before
}

// addJobs adds jobs: those of one round come before those of the next, whichever program they are for, so that a run that ends early has seen
// something of each package with each program.
func (q *queue) addJobs(jobs []*Job) {
	q.jobs = append(q.jobs, jobs...)
	slices.SortStableFunc(q.jobs, func(a, b *Job) int { return cmp.Compare(a.Round, b.Round) })
}

// takeJob removes the first job of any of some kinds; nil where there is none.
func (q *queue) takeJob(kinds []string) *Job {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.isOver() {
		return nil
	}
	i := slices.IndexFunc(q.jobs, func(j *Job) bool {
		kind := kindOf(j.Package)
		end, limited := q.kinds[kind]
		return slices.Contains(kinds, kind) && !(limited && time.Now().After(end))
	})
	if i < 0 {
		return nil
	}
	taken := q.jobs[i]
	q.jobs = slices.Delete(q.jobs, i, i+1)
	return taken
}

// isOver says whether the time is over in which jobs are begun.
func (q *queue) isOver() bool { return !q.deadline.IsZero() && time.Now().After(q.deadline) }

// countWaiting says how many jobs nobody took.
func (q *queue) countWaiting() int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return len(q.jobs)
}

// dropWaiting removes the jobs that nobody took because the time was over.
func (q *queue) dropWaiting() (dropped []*Job) {
	if q.isOver() {
		dropped, q.jobs = q.jobs, nil
	}
	return dropped
}

// limitJobs has no job begin later than after some minutes, and those of further hypervisors not in its last quarter, as the sandbox that has them is
// the one of the kinds behind them too, and comes after the hunt; none is no limit.
func (q *queue) limitJobs(minutes int) {
	if minutes > 0 {
		limit := time.Duration(minutes) * time.Minute
		q.deadline, q.kinds = time.Now().Add(limit), map[string]time.Time{hypervisorsKind: time.Now().Add(limit * 3 / 4)}
	}
}
