// Command runtests runs the tests of this repository and ends with their count: "unit" go vet and every test that needs no sandbox,
// "acceptance" those that do. "worker" is what acceptance starts inside a sandbox.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// errFailed is the end of a run whose failures are printed already.
var errFailed = errors.New("not all tests passed")

func main() {
	if err := runCommand(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
		os.Exit(1)
	}
}

func runCommand(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: runtests unit|acceptance|worker")
	}
	if args[0] == "worker" {
		return serveJobs(os.Stdin, os.Stdout)
	}
	root, err := filepath.Abs("..") // this module is in the repository
	if err != nil {
		return err
	}
	switch args[0] {
	case "unit":
		return runUnit(os.Stdout, root)
	case "acceptance":
		return runAcceptance(os.Stdout, root)
	}
	return fmt.Errorf("there is no command %q", args[0])
}
