// Command shape prints how big the project is and how easily it is read, in figures that CI shows for information and holds against
// nobody. With -v it also lists what each figure counts; the argument is the repository, by default the directory above this module.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	verbose := flag.Bool("v", false, "list what each figure counts")
	flag.Parse()
	root := ".."
	if flag.NArg() > 0 {
		root = flag.Arg(0)
	}
	files, err := readFiles(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	printFigures(os.Stdout, files, *verbose)
}

// figure is one line of the output, with the places that it counts.
type figure struct {
	text   string
	places []string
}

func printFigures(w io.Writer, files []file, verbose bool) {
	for _, f := range []figure{
		countLines(files),
		countOneWordNames(files),
		findImporters(files),
		findAttributeFiles(files),
		findHandovers(files),
		findTables(files),
	} {
		fmt.Fprintln(w, f.text)
		if verbose {
			for _, place := range f.places {
				fmt.Fprintln(w, "\t"+place)
			}
		}
	}
}
