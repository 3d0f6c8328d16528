package acctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// logs are what two packages printed: tests passed, failed at first, failed twice, were skipped and never ended.
const (
	services = "--- PASS: TestAccA (0.1s)\n--- FAIL: TestAccB (0.1s)\n--- FAIL: TestAccC (0.1s)\n    told: why\n--- SKIP: TestAccD (0.0s)\nFAIL\n"
	machines = "--- PASS: TestAccE (0.1s)\n--- FAIL: TestAccF (0.1s)\npanic: internal/machines ended early\n"
	again    = "--- PASS: TestAccB (0.1s)\n--- FAIL: TestAccC (0.1s)\nFAIL\n"
)

func TestWhatFailedIsTriedAgainAndEveryPlannedTestIsCounted(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report := func(function string) string {
		t.Helper()
		cmd := exec.Command("bash", "-euc", `cd "$1"; source "$2"; `+function+` || echo "status $?"`, "report", dir, repositoryFile("tools/report.sh"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", function, err, out)
		}
		return string(out)
	}
	write("plan/services", "TestAccA\nTestAccB\nTestAccC\nTestAccD\n")
	write("plan/machines", "TestAccE\nTestAccF\nTestAccG\n")
	write("plan/other", "TestAccH\n")
	write("log/services", services)
	write("log/machines", machines)

	report("plan_failed plan log again")
	if got := report("grep -r . again"); got != "again/services:TestAccB\nagain/services:TestAccC\n" {
		t.Errorf("tried again: %s", got)
	}
	write("log/services", services+again)
	got := report("report_plan plan log terraform")
	for _, want := range []string{
		"passed at the second try: TestAccB\n", "failed: TestAccC\n", "told: why\n  --- SKIP: TestAccD",
		"failed: TestAccF\n", "did not end: TestAccG\n", "did not end: TestAccH\n", "terraform: 1 skipped\n3 passed, 4 failed\nstatus 1\n",
	} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in\n%s", want, got)
			}
		})
	}
}

// A long list is cut without an end of the program that prints it, which would end the whole run as well.
func TestTheSlowestOfVeryManyTestsAreNamed(t *testing.T) {
	script := `source "$1"; for n in {1..20000}; do echo "--- PASS: TestAcc$n (${n}.4s)"; done | report_slowest /dev/stdin`
	out, err := exec.Command("bash", "-euo", "pipefail", "-c", script, "report", repositoryFile("tools/report.sh")).CombinedOutput()
	if got := string(out); err != nil || !strings.HasPrefix(got, "slowest: TestAcc20000 20000 s, TestAcc19999 19999 s,") || strings.Count(got, " s") != 12 {
		t.Errorf("%v: %s", err, got)
	}
}
