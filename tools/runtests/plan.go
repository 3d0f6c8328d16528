package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// program is one of those that apply configurations.
type program struct{ name, path string }

// findCLIs finds the programs that tests run with: Terraform where it is installed, and OpenTofu, which is built where it is not.
func findCLIs(root string) (all []program, err error) {
	for _, name := range strings.Fields(cmp.Or(os.Getenv("CLIS"), "terraform tofu")) {
		switch name {
		case "terraform":
			if path, err := exec.LookPath(name); err == nil {
				all = append(all, program{name, path})
			}
		case "tofu":
			path, err := listLines(root, nil, filepath.Join(root, "tools/tofu"))
			if err != nil {
				return nil, err
			}
			all = append(all, program{name, strings.Join(path, "")})
		default:
			return nil, fmt.Errorf("CLIS takes terraform and tofu, not %s", name)
		}
	}
	if len(all) == 0 {
		err = errors.New("there is neither terraform nor tofu")
	}
	return all, err
}

// listLines runs a command in a directory and returns the lines that it prints.
func listLines(directory string, env []string, argv ...string) ([]string, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = directory, append(os.Environ(), env...), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, out)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), nil
}

// compiled is a package with acceptance tests, by its directory in the repository, and the binary of its tests.
type compiled struct{ directory, binary string }

// compilePackages compiles only packages with acceptance tests, each once for all programs, outside the sandboxes. What does not build is
// noted in broken.
func (a *acceptance) compilePackages() ([]compiled, error) {
	var directories []string
	if patterns := strings.Fields(os.Getenv("PACKAGES")); len(patterns) > 0 {
		all, err := listLines(a.root, nil, append([]string{"go", "list", "-f", "{{.Dir}}"}, patterns...)...)
		if err != nil {
			return nil, err
		}
		for _, directory := range all {
			relative, err := filepath.Rel(a.root, directory)
			if err != nil {
				return nil, err
			}
			directories = append(directories, relative)
		}
	} else {
		files, err := listLines(a.root, nil, "git", "grep", "-l", "--untracked", "-E", "^func TestAcc", "--", "internal/*_test.go")
		if err != nil {
			return nil, fmt.Errorf("there are no acceptance tests: %w", err)
		}
		for _, file := range files {
			directories = append(directories, filepath.Dir(file))
		}
	}
	slices.Sort(directories)
	directories = slices.Compact(directories)
	fmt.Fprintf(a.w, "compiling the acceptance tests of %d packages\n", len(directories))
	all, failures := make([]compiled, len(directories)), make([]error, len(directories))
	turns := make(chan struct{}, runtime.NumCPU())
	var compiling sync.WaitGroup
	for i, directory := range directories {
		compiling.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			all[i] = compiled{directory, filepath.Join(a.work, strings.ReplaceAll(directory, "/", "+")+".test")}
			_, failures[i] = listLines(a.root, nil, "go", "test", "-c", "-o", all[i].binary, "./"+directory)
		})
	}
	compiling.Wait()
	for i, directory := range directories {
		if failures[i] != nil {
			a.broken += fmt.Sprintf("FAIL %s [build failed]\n", directory)
		}
	}
	fmt.Fprint(a.w, a.broken)
	return slices.DeleteFunc(all, func(c compiled) bool { _, err := os.Stat(c.binary); return err != nil }), nil // some have no tests
}

// planCLI puts jobs of the tests for a program into a queue: of every test, or of those that acctest.BothCLIs marks.
func (a *acceptance) planCLI(q *queue, cli program, packages []compiled, every bool) error {
	limit, err := strconv.Atoi(cmp.Or(os.Getenv("ACC_TIMEOUT"), "1500"))
	if err != nil {
		return fmt.Errorf("ACC_TIMEOUT: %w", err)
	}
	skip, err := regexp.Compile(cmp.Or(os.Getenv("ACC_SKIP"), "^$"))
	if err != nil {
		return fmt.Errorf("ACC_SKIP: %w", err)
	}
	pattern, subtest, isSubtest := strings.Cut(os.Getenv("RUN"), "/")
	if isSubtest {
		subtest = "/" + subtest
	}
	commit, _ := listLines(a.root, nil, "git", "rev-parse", "HEAD") // without one, as they are listed
	var jobs []*Job
	count := 0
	for _, c := range packages {
		tests, err := a.listTests(c, pattern, every)
		if err != nil {
			fmt.Fprintln(a.w, err)
			a.broken += fmt.Sprintf("FAIL %s [its tests are not listed with %s]\n", c.directory, cli.name)
			continue
		}
		tests = slices.DeleteFunc(tests, func(test string) bool { return !strings.HasPrefix(test, "TestAcc") || skip.MatchString(test) })
		count += len(tests)
		tests = rotateTests(tests, strings.Join(commit, ""))
		jobs = append(jobs, splitJob(Job{CLI: cli.name, Program: cli.path, Root: a.root, Package: c.directory, Binary: c.binary, Tests: tests, Subtest: subtest, Limit: limit})...)
	}
	a.addJobs(q, cli.name, jobs)
	fmt.Fprintf(a.w, "%d acceptance tests with %s\n", count, cli.name)
	return nil
}

// addJobs puts jobs into a queue, and begins the report of their program.
func (a *acceptance) addJobs(q *queue, cli string, jobs []*Job) {
	q.addJobs(jobs)
	a.reports[cli] = newReport(cli, jobs)
}

// listTests asks a package's binary for its tests.
func (a *acceptance) listTests(c compiled, pattern string, every bool) ([]string, error) {
	directory := filepath.Join(a.root, c.directory)
	if every {
		return listLines(directory, nil, c.binary, "-test.list", cmp.Or(pattern, "^TestAcc"))
	}
	marks := c.binary + ".marks"
	if _, err := listLines(directory, []string{"VIRTCLUSTER_TEST_MARKS=" + marks}, c.binary, "-test.run", "^TestAcc"); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(marks)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(text)), err
}
