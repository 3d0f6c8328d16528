package acctest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// oneTest is the compiled tests of a package: it notes which tests run with which program, and passes.
const oneTest = `#!/bin/sh
echo "begin $(basename "$0") $TF_ACC_PROVIDER_HOST $5" >>"$NOTES"
echo "--- PASS: $5 (0.1s)"
`

func TestSandboxesShareAQueueOfTests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	notes := filepath.Join(dir, "notes")
	script := func(line string) string {
		t.Helper()
		cmd := exec.Command("bash", "-euc", `cd "$1"; source "$2"; `+line, "queue", dir, repositoryFile("tools/queue.sh"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", line, err, out)
		}
		return string(out)
	}
	packages := map[string]int{"resources+node": 9, "resources+dnszone": 5, "resources+vip": 1, "resources+route": 1, "acctest": 2}
	script("mkdir -p plan log binaries; seq -f TestAccT%g 9 >tests")
	for name, tests := range packages {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, "binaries", "internal+"+name+".test"), []byte(oneTest), 0o700); err != nil {
				t.Fatal(err)
			}
			script(fmt.Sprintf("head -n %d tests >plan/internal+%s", tests, name))
		})
	}
	script(`split_plan plan; enqueue terraform=/t "$PWD/plan" "$PWD/log" queue; enqueue tofu=/o "$PWD/plan" "$PWD/log" queue`)
	if got := script("ls plan | paste -sd' '; for k in networks alone machines services; do echo $k $(ls queue/$k | wc -l); done"); got !=
		"internal+acctest internal+resources+dnszone internal+resources+node,00 internal+resources+node,01 internal+resources+node,02 internal+resources+route internal+resources+vip\n"+
			"networks 2\nalone 2\nmachines 6\nservices 4\n" {
		t.Fatalf("in the queue: %s", got)
	}
	if got := script("ls queue/machines | cut -d- -f2,3 | paste -sd' '"); got != "00-terraform 01-terraform 02-terraform 00-tofu 01-tofu 02-tofu\n" {
		t.Errorf("the order of jobs: %s", got)
	}

	var both sync.WaitGroup
	for _, lanes := range [][]string{{"networks,services,machines,alone"}, {"machines", "services", "--", "alone,networks"}} {
		t.Run(fmt.Sprint(lanes), func(t *testing.T) {
			both.Go(func() {
				cmd := exec.Command(repositoryFile("tools/testacc-inside"), append([]string{dir + "/binaries", dir + "/queue"}, lanes...)...)
				cmd.Env = append(os.Environ(), "NOTES="+notes)
				if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "FAIL") {
					t.Errorf("%s: %v: %s", lanes, err, out)
				}
			})
		})
	}
	both.Wait()
	said, err := os.ReadFile(notes)
	if err != nil {
		t.Fatal(err)
	}
	for name := range packages {
		t.Run(name, func(t *testing.T) {
			for _, host := range []string{"registry.terraform.io", "registry.opentofu.org"} {
				var ran []string
				for _, m := range regexp.MustCompile(`begin internal`+regexp.QuoteMeta("+"+name)+`\.test `+host+` \^\((.*)\)\$`).FindAllStringSubmatch(string(said), -1) {
					ran = append(ran, strings.Split(m[1], "|")...)
				}
				if slices.Sort(ran); len(ran) != packages[name] || len(slices.Compact(ran)) != packages[name] {
					t.Errorf("%s ran %q of %s", host, ran, name)
				}
			}
		})
	}
	if got := script("ls log | wc -l; grep -ho 'PASS' log/* | wc -l"); got != "7\n14\n" {
		t.Errorf("logs, and tests that passed in them: %s", got)
	}
}

func TestAProgramWhoseTestsWereNotBegunIsReported(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("bash", "-euc", `cd "$1"; source "$2"; source "$3"; mkdir plan log queue; echo TestAccOne >plan/internal+acctest
		enqueue tofu=/o plan log queue; ACC_MINUTES=1 drop_jobs queue; plan_failed plan log again; report_plan plan log tofu`,
		"report", t.TempDir(), repositoryFile("tools/queue.sh"), repositoryFile("tools/report.sh"))
	out, err := cmd.CombinedOutput()
	if want := "not begun within 1 minutes with tofu, internal+acctest: TestAccOne\ntofu: 0 skipped\n0 passed, 0 failed\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
}
