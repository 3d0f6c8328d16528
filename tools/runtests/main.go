// Command runtests runs the tests of this repository and ends with their count: "unit" go vet and every test that needs no sandbox,
// "acceptance" those that do. "worker SOCKET" is what acceptance starts inside a sandbox.
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
	root, err := filepath.Abs("..") // this module is in the repository
	switch {
	case err != nil:
	case len(os.Args) == 2 && os.Args[1] == "unit":
		err = runUnit(os.Stdout, root)
	case len(os.Args) == 2 && os.Args[1] == "acceptance":
		err = runAcceptance(os.Stdout, root)
	case len(os.Args) == 3 && os.Args[1] == "worker":
		err = serveJobs(os.Args[2])
	default:
		err = errors.New("usage: runtests unit|acceptance|worker SOCKET")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
		os.Exit(1)
	}
}
