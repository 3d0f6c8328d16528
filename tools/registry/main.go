// Command registry says whether the files of a release keep the registry's rules for providers: `registry DIRECTORY VERSION`, with the version
// as in the files' names. What it cannot see is whether the registry knows the key of the signature.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	project = "terraform-provider-virtcluster"
	// largestPage is how many bytes of a page of the documentation the registry shows.
	largestPage = 500_000
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: registry DIRECTORY VERSION")
		os.Exit(2)
	}
	checked, err := checkRelease(os.Args[1], os.Args[2])
	if err == nil {
		err = checkPages("../docs")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d archives of %s keep the registry's rules\n", checked, os.Args[2])
}

// checkRelease returns how many archives a release has, and everything that is wrong with it, joined.
func checkRelease(directory, version string) (archives int, err error) {
	base := project + "_" + version
	if project != strings.ToLower(project) || !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(version) {
		return 0, fmt.Errorf("%s is no semantic version, or the repository's name is not in lower case", version)
	}
	sumsText, err := os.ReadFile(filepath.Join(directory, base+"_SHA256SUMS"))
	if err != nil {
		return 0, err
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(sumsText)) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[file] = sum
	}
	var problems []error
	hasSum := func(file, name string) []byte {
		content, err := os.ReadFile(file)
		if err != nil {
			problems = append(problems, err)
		} else if got := sha256.Sum256(content); sums[name] != hex.EncodeToString(got[:]) {
			problems = append(problems, fmt.Errorf("%s: the sums say %q of it, and it has %x", name, sums[name], got))
		}
		return content
	}
	named := regexp.MustCompile(`^` + regexp.QuoteMeta(base) + `_[a-z0-9]+_[a-z0-9]+\.zip$`)
	zips, err := filepath.Glob(filepath.Join(directory, "*.zip"))
	if err != nil {
		return 0, err
	}
	for _, file := range zips {
		name := filepath.Base(file)
		if !named.MatchString(name) {
			problems = append(problems, fmt.Errorf("%s: an archive is called %s_OS_ARCH.zip", name, base))
		}
		if err := checkArchive(hasSum(file, name), project+"_v"+version); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	if len(zips) == 0 {
		problems = append(problems, errors.New("there is no archive"))
	}
	if err := checkManifest(hasSum(filepath.Join(directory, base+"_manifest.json"), base+"_manifest.json")); err != nil {
		problems = append(problems, err)
	}
	signature, err := os.ReadFile(filepath.Join(directory, base+"_SHA256SUMS.sig"))
	if err != nil {
		problems = append(problems, err)
	} else if len(signature) == 0 || bytes.HasPrefix(signature, []byte("-----")) {
		problems = append(problems, errors.New("the signature is not in GPG's binary form"))
	}
	return len(zips), errors.Join(problems...)
}

// checkArchive returns why an archive does not have the program as the one file that begins with the project's name.
func checkArchive(content []byte, program string) error {
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return err
	}
	var programs []string
	for _, f := range archive.File {
		if strings.HasPrefix(f.Name, project) {
			programs = append(programs, strings.TrimSuffix(f.Name, ".exe"))
			if f.Mode()&0o111 == 0 {
				return fmt.Errorf("%s is not executable", f.Name)
			}
		}
	}
	if len(programs) != 1 || programs[0] != program {
		return fmt.Errorf("it has %q for programs, not %s", programs, program)
	}
	return nil
}

// checkManifest returns what is wrong with the manifest. That the provider serves what it says is tested where the provider is.
func checkManifest(content []byte) error {
	var manifest struct {
		Version  int `json:"version"`
		Metadata struct {
			Protocols []string `json:"protocol_versions"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(content, &manifest); err != nil {
		return fmt.Errorf("the manifest: %w", err)
	}
	if manifest.Version != 1 || len(manifest.Metadata.Protocols) == 0 {
		return errors.New("the manifest has not version 1 and protocol_versions")
	}
	return nil
}

// checkPages returns which pages are too long for the registry.
func checkPages(directory string) error {
	var problems []error
	pages := 0
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		pages++
		info, err := entry.Info()
		if err == nil && info.Size() > largestPage {
			problems = append(problems, fmt.Errorf("%s has %d bytes, and the registry shows %d", path, info.Size(), largestPage))
		}
		return err
	})
	if pages == 0 {
		problems = append(problems, errors.New("there is no documentation"))
	}
	return errors.Join(append(problems, err)...)
}
