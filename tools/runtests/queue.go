package main

import (
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
		part.Tests = tests
		parts = append(parts, &part)
	}
	return parts
}

// listByPart lists the parts of packages: the first part of every package comes before the second one of any, so that a run that ends early
// has seen something of each.
func listByPart(packages [][]*Job) (all []*Job) {
	for part := 0; ; part++ {
		before := len(all)
		for _, parts := range packages {
			if part < len(parts) {
				all = append(all, parts[part])
			}
		}
		if len(all) == before {
			return all
		}
	}
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
	deadline time.Time // of beginning one; zero is none
}

// takeJob removes the first job of the first kind that has one; nil where no kind has.
func (q *queue) takeJob(kinds []string) *Job {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.isOver() {
		return nil
	}
	for _, kind := range kinds {
		if i := slices.IndexFunc(q.jobs, func(j *Job) bool { return kindOf(j.Package) == kind }); i >= 0 {
			taken := q.jobs[i]
			q.jobs = slices.Delete(q.jobs, i, i+1)
			return taken
		}
	}
	return nil
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

// limitJobs has no job begin later than after some minutes; none is no limit.
func (q *queue) limitJobs(minutes int) {
	if minutes > 0 {
		q.deadline = time.Now().Add(time.Duration(minutes) * time.Minute)
	}
}
