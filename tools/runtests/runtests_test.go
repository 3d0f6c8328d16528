package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain is a worker too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		_ = serveJobs(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// ownWorker is what starts one without a sandbox.
var ownWorker = []string{os.Args[0], "worker"}

// fakeTests are the compiled tests of a package: they pass, but for what their names say.
const fakeTests = `#!/bin/sh
for test in $(echo "$5" | tr '^()$|' '     '); do
	echo "=== RUN   $test"
	echo "with $TF_ACC_TERRAFORM_PATH by $TF_ACC_PROVIDER_HOST in $PWD"
	case $test in
	*Flaky*) if mkdir "$0.$test" 2>/dev/null; then echo "--- FAIL: $test (0.10s)"; status=1; else echo "--- PASS: $test (0.20s)"; fi ;;
	*Broken*) echo "told: why"; echo "--- FAIL: $test (0.10s)"; status=1 ;;
	*Skipped*) echo "    told: why"; echo "--- SKIP: $test (0.00s)" ;;
	*Dying*) echo "--- FAIL: $test (0.10s)"; echo "panic: died"; exit 2 ;;
	*Stopped*) exit 1 ;;
	*EndsAll*) kill -9 $(ps -o ppid= -p $PPID); sleep 5 ;; # its parent is timeout, and that one's the worker
	*) echo "--- PASS: $test (0.10s)" ;;
	esac
done
echo ${status:+FAIL}${status-PASS} | cut -c1-4
exit $status
`

// fakeRun has jobs of packages with these tests for two programs in its queue, and does not go into sandboxes.
func fakeRun(t *testing.T, packages map[string][]string) (a *acceptance, q *queue, said *bytes.Buffer) {
	t.Helper()
	said = &bytes.Buffer{}
	a = &acceptance{w: &lockedWriter{w: said}, root: t.TempDir(), reports: map[string]*report{}}
	q = &queue{}
	for _, cli := range []string{"terraform", "tofu"} {
		var jobs []*Job
		for name, tests := range packages {
			binary := filepath.Join(a.root, strings.ReplaceAll(name, "/", "+"))
			if err := os.WriteFile(binary, []byte(fakeTests), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(a.root, "internal", name), 0o700); err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, splitJob(Job{CLI: cli, Program: "/bin/" + cli, Root: a.root, Package: "internal/" + name, Binary: binary, Tests: tests, Limit: 20})...)
		}
		a.addJobs(q, cli, jobs)
	}
	return a, q, said
}

func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("TestAccT%d", i+1))
	}
	return all
}

// TestNobodyTakesAServiceNodeFromTestsOfServices reads which tests reboot one, or change its services: those of machines run beside them.
func TestNobodyTakesAServiceNodeFromTestsOfServices(t *testing.T) {
	t.Parallel()
	files, err := listLines("../..", nil, "git", "grep", "--untracked", "-lE", `acctest\.(Reboot|LeaveToManager)\(|haproxytest\.|virtcluster_service_node`, "--", "internal/*_test.go")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			if kindOf(filepath.Dir(file)) == "machines" {
				t.Error("reboots a service node or changes its services, and runs beside tests of services")
			}
		})
	}
}

func TestSandboxesShareAQueueOfTests(t *testing.T) {
	t.Parallel()
	packages := map[string][]string{"resources/node": numbered(9), "resources/dnszone": numbered(5), "resources/vip": numbered(1), "resources/route": numbered(1), "acctest": numbered(2)}
	a, q, said := fakeRun(t, packages)
	kinds, order := map[string]int{}, ""
	for _, j := range q.jobs {
		kinds[kindOf(j.Package)]++
		if strings.HasSuffix(j.Package, "node") {
			order += fmt.Sprint(j.CLI, len(j.Tests), " ")
		}
	}
	if got := fmt.Sprint(kinds); got != "map[alone:2 machines:6 networks:2 services:4]" || order != "terraform4 tofu4 terraform4 tofu4 terraform1 tofu1 " {
		t.Fatalf("in the queue: %s, %s", got, order)
	}
	for i, j := range q.jobs {
		if i < 5 && len(j.Tests) == 4 && j.Tests[0] != "TestAccT1" {
			t.Errorf("job %d is %+v", i, j)
		}
	}
	var both sync.WaitGroup
	for _, stages := range [][][]string{{{"networks,services,machines,alone"}}, {{"machines", "services"}, {"alone,networks"}}} {
		both.Go(func() { a.useWorker(q, ownWorker, stages...) })
	}
	both.Wait()
	for _, r := range a.reports {
		for name, tests := range packages {
			t.Run(r.cli+" "+name, func(t *testing.T) {
				for _, test := range tests {
					tries := r.tries[[2]string{"internal/" + name, test}]
					want := fmt.Sprintf("with /bin/%s by registry.%s in %s", r.cli, map[string]string{"terraform": "terraform.io", "tofu": "opentofu.org"}[r.cli], filepath.Join(a.root, "internal", name))
					if len(tries) != 1 || tries[0].verdict != "pass" || !strings.Contains(tries[0].output.String(), want) {
						t.Errorf("%s: %+v", test, tries)
					}
				}
			})
		}
		if failed := r.printSummary(a.w); failed != 0 || !strings.Contains(said.String(), r.cli+": 0 skipped\n18 passed, 0 failed\n") {
			t.Errorf("%d failed: %s", failed, said)
		}
	}
	if strings.Contains(said.String(), "FAIL") || strings.Count(said.String(), "\nlane ")+strings.Count(said.String()[:5], "lane ") != 4 {
		t.Error(said)
	}
}

// A run that ends early has begun tests of every kind, and another one begins with others.
func TestARunThatEndsEarlyLeavesNoKindOut(t *testing.T) {
	t.Parallel()
	_, q, _ := fakeRun(t, map[string][]string{"resources/ovn": numbered(9), "resources/vip": numbered(1)})
	q.limitJobs(60)
	if j := q.takeJob([]string{hypervisorsKind}); j == nil {
		t.Error("at first there is no job of further hypervisors")
	}
	q.kinds[hypervisorsKind] = time.Now().Add(-time.Second)
	if j := q.takeJob([]string{hypervisorsKind, "alone"}); j == nil || j.Package != "internal/resources/vip" {
		t.Errorf("in the last quarter it is %+v", j)
	}
	firsts := map[string]bool{}
	for _, commit := range []string{"", "a", "b", "c", "d", "e"} {
		t.Run(commit, func(t *testing.T) {
			rotated := rotateTests(numbered(9), commit)
			firsts[rotated[0]] = true
			if slices.Sort(rotated); !slices.Equal(rotated, numbered(9)) {
				t.Errorf("the tests are %q", rotated)
			}
		})
	}
	if len(firsts) < 3 || len(rotateTests(nil, "a")) > 0 {
		t.Errorf("runs begin with %v", firsts)
	}
}

func TestWhatFailedIsTriedAgainAndEveryPlannedTestIsCounted(t *testing.T) {
	t.Parallel()
	a, q, said := fakeRun(t, map[string][]string{
		"services": {"TestAccA", "TestAccFlaky", "TestAccBroken", "TestAccSkipped"}, "machines": {"TestAccE", "TestAccBroken2", "TestAccDying", "TestAccG"}, "resources/node": {"TestAccStopped"},
	})
	a.useWorker(q, ownWorker, []string{"services,machines"})
	r := a.reports["terraform"]
	again := r.listAgain()
	if len(again) != 1 || !slices.Equal(again[0].Tests, []string{"TestAccFlaky", "TestAccBroken"}) {
		t.Fatalf("tried again: %+v", again)
	}
	a.useWorker(&queue{jobs: again}, ownWorker, []string{"services"})
	failed := r.printSummary(a.w)
	for _, want := range []string{
		"told: why\n--- FAIL: TestAccBroken (0.10s)\n", "FAIL\tinternal/services\tterraform", "panic: internal/resources/node ended early\n",
		"passed at the second try: TestAccFlaky\n", "failed: TestAccBroken\n", "told: why\n  --- SKIP: TestAccSkipped", "failed: TestAccBroken2\n",
		"failed: TestAccDying\n", "did not end: TestAccG\n", "did not end: TestAccStopped\n", "terraform: 1 skipped\n3 passed, 5 failed\n",
	} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(said.String(), want) {
				t.Errorf("%q is not in\n%s", want, said)
			}
		})
	}
	if failed != 5 {
		t.Errorf("%d failed", failed)
	}
	file := filepath.Join(t.TempDir(), "junit.xml")
	if err := writeJUnit(file, []*report{r}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	for _, want := range []string{`classname="internal/services" name="TestAccFlaky" time="0.2"`, "<flakyFailure>", "<rerunFailure>", "<skipped>", "<failure>did not end</failure>"} {
		t.Run(want, func(t *testing.T) {
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%v: %q is not in\n%s", err, want, text)
			}
		})
	}
}

// The tests of a sandbox that ended are lost, and no lane of it takes another one.
func TestASandboxThatDiesLosesWhatItRan(t *testing.T) {
	t.Parallel()
	a, q, said := fakeRun(t, map[string][]string{"a": {"TestAccEndsAll"}, "b": {"TestAccB"}})
	for _, j := range q.jobs {
		j.CLI = "terraform"
	}
	slices.SortFunc(q.jobs, func(x, y *Job) int { return strings.Compare(x.Package, y.Package) })
	a.useWorker(q, ownWorker, []string{"services"})
	a.useWorker(q, []string{"false"}, []string{"services"})
	if len(q.jobs) != 3 || len(q.dropWaiting()) != 0 || !strings.Contains(said.String(), "a sandbox did not come up: false") {
		t.Errorf("%d jobs are left: %s", len(q.jobs), said)
	}
	if a.reports["terraform"].printSummary(a.w) != 2 || !strings.Contains(said.String(), "did not end: TestAccEndsAll\n") || !strings.Contains(said.String(), "did not end: TestAccB\n") {
		t.Error(said)
	}
}

func TestAProgramWhoseTestsWereNotBegunIsReported(t *testing.T) {
	t.Parallel()
	a, q, said := fakeRun(t, map[string][]string{"acctest": {"TestAccOne"}})
	q.deadline = time.Now().Add(-time.Second)
	a.useWorker(q, ownWorker, []string{"services"})
	dropped := q.dropWaiting()
	said.Reset()
	r := a.reports["tofu"]
	r.dropJobs(a.w, dropped, 1)
	failed := r.printSummary(a.w)
	if want := "not begun within 1 minutes with tofu, internal/acctest: TestAccOne\n\ntofu: 0 skipped\n0 passed, 0 failed\n"; failed != 0 || said.String() != want || len(r.listAgain()) != 0 {
		t.Errorf("%d failed: %s", failed, said)
	}
}

func TestTheSlowestOfVeryManyTestsAreNamed(t *testing.T) {
	t.Parallel()
	r := newReport("tofu", []*Job{{Package: "p", Tests: numbered(20000)}})
	for i, test := range r.jobs[0].Tests {
		r.tries[[2]string{"p", test}] = []*result{{verdict: "pass", test: test, seconds: float64(i+1) + 0.4}}
	}
	var said strings.Builder
	r.printSummary(&said)
	first, _, _ := strings.Cut(said.String(), "\n")
	if !strings.HasPrefix(first, "slowest: TestAccT20000 20000 s, TestAccT19999 19999 s,") || strings.Count(first, " s") != 12 {
		t.Error(first)
	}
}

// A package that does not build, or whose tests end early, counts as one that failed; what runs in parallel keeps its own words.
func TestUnitTestsAreCounted(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		"go.mod": "module example\n", "tools/go.mod": "module example/tools\n", "tools/t_test.go": "package tools\n\nimport \"testing\"\n\nfunc TestTools(t *testing.T) {}\n",
		"good/t_test.go": "package good\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tt.Parallel()\n\tt.Run(\"case\", func(t *testing.T) { t.Error(\"one is wrong\") })\n}\n\nfunc TestTwo(t *testing.T) { t.Parallel() }\n\nfunc TestThree(t *testing.T) { t.Skip(\"no reason\") }\n\nfunc TestAcc(t *testing.T) { t.Fatal(\"not here\") }\n",
		"bad/t_test.go":  "package bad\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { _ = t.Nothing }\n",
		"dies/t_test.go": "package dies\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestExit(t *testing.T) { os.Exit(3) }\n",
	} {
		write(path, text)
	}
	var said strings.Builder
	if err := runUnit(&said, root); err == nil {
		t.Error("it succeeds")
	}
	for _, want := range []string{"one is wrong", "--- FAIL: TestOne", "no reason\n  --- SKIP: TestThree", "FAIL\texample/dies", "t.Nothing undefined", "ok  \texample/tools", "unit: 1 skipped\n2 passed, 3 failed\n"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(said.String(), want) {
				t.Errorf("%q is not in\n%s", want, said.String())
			}
		})
	}
}

// A package whose tests cannot be listed counts as one that failed, and those of the others run.
func TestPackageWhoseTestsAreNotListedLeavesTheOthers(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	root := t.TempDir()
	a := &acceptance{w: &said, root: root, reports: map[string]*report{}}
	compile := func(name, script string) compiled {
		binary := filepath.Join(root, name+".test")
		if err := cmp.Or(os.Mkdir(filepath.Join(root, name), 0o700), os.WriteFile(binary, []byte("#!/bin/sh\n"+script+"\n"), 0o700)); err != nil {
			t.Fatal(err)
		}
		return compiled{name, binary}
	}
	q := &queue{}
	if err := a.planCLI(q, program{"terraform", "/bin/terraform"}, []compiled{compile("broken", "echo why; exit 1"), compile("whole", "echo TestAccWhole")}, true); err != nil {
		t.Fatal(err)
	}
	if len(q.jobs) != 1 || q.jobs[0].Package != "whole" || a.broken != "FAIL broken [its tests are not listed with terraform]\n" || !strings.Contains(said.String(), "why") {
		t.Errorf("%+v, %q, %s", q.jobs, a.broken, &said)
	}
}
