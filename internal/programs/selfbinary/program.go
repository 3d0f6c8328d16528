// Package selfbinary chooses the program of the provider that serves on a machine, by a subcommand, and puts it there: its own, where that
// runs there, or that of a release for the machine's platform.
package selfbinary

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Machine is where a program is to run.
type Machine struct {
	// System and Processor as uname(1) has them.
	System, Processor string
	// What is how messages call it ("the hypervisor's machine"), and Otherwise the way out where no program is for it.
	What, Otherwise string
}

// Program is what serves on a machine, as a file for its system and processor.
type Program struct {
	// Origin says where it comes from: "this provider", a path or a URL.
	Origin string
	// Sum is the SHA-256 in hexadecimal of what is there: the program, or a zip archive with it in it.
	Sum string
	// Fetch returns the program itself.
	Fetch func(ctx context.Context) ([]byte, error)
}

// Look returns why a program that is not the provider's own cannot be had, as far as that is known without fetching it from another machine.
func (p Program) Look(ctx context.Context) error {
	switch {
	case p.Origin == Own:
		return nil
	case isURL(p.Origin):
		ctx, cancel := context.WithTimeout(ctx, answerPatience)
		defer cancel()
		body, err := openURL(ctx, p.Origin)
		if err == nil {
			_ = body.Close()
		}
		return err
	}
	_, err := p.Fetch(ctx)
	return err
}

// Own is the Origin of the provider's own program.
const Own = "this provider"

// projectName is what programs and archives of a release begin with, and projectURL where the releases are.
const (
	projectName = "terraform-provider-virtcluster"
	projectURL  = "https://github.com/virtcluster/" + projectName
)

// archiveURL and sumsURL are where a release has the program for a platform, and the checksums of all its files, named as .goreleaser.yml says.
func archiveURL(version, system, processor string) string {
	return releaseURL(version, fmt.Sprintf("%s_%s_%s.zip", version, system, processor))
}

func sumsURL(version string) string { return releaseURL(version, version+"_SHA256SUMS") }

func releaseURL(version, rest string) string {
	return projectURL + "/releases/download/v" + version + "/" + projectName + "_" + rest
}

// largestProgram is the most that a program, or an archive of one, may have.
const largestProgram = 512 << 20

// processors are what uname(1) calls those that Go calls otherwise.
var processors = map[string]string{"x86_64": "amd64", "aarch64": "arm64", "armv6l": "arm", "armv7l": "arm", "i386": "386", "i686": "386"}

// released is the version of a release.
var released = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)

// Choose returns the program for a machine: source with its checksum ("sha256:…"), where that is written; else the provider's own, where that
// runs there; else that of the release of a version.
func Choose(ctx context.Context, m Machine, source, checksum, version string) (Program, error) {
	if source != "" {
		sum := strings.ToLower(strings.TrimPrefix(checksum, "sha256:"))
		return Program{source, sum, func(ctx context.Context) ([]byte, error) { return fetchProgram(ctx, source, sum) }}, nil
	}
	system, processor := strings.ToLower(m.System), m.Processor
	if name, ok := processors[processor]; ok {
		processor = name
	}
	if system == runtime.GOOS && processor == runtime.GOARCH {
		sum, err := ownSum()
		return Program{Own, sum, func(ctx context.Context) ([]byte, error) {
			own, err := os.Executable()
			if err != nil {
				return nil, err
			}
			return fetchProgram(ctx, own, sum)
		}}, err
	}
	if !released.MatchString(version) {
		return Program{}, fmt.Errorf("%s is %s on %s, where this provider (%s, %s) does not run, and its version %q is no release that others could be fetched from: %s",
			m.What, m.System, m.Processor, runtime.GOOS, runtime.GOARCH, version, m.Otherwise)
	}
	sums, err := readSource(ctx, sumsURL(version))
	if err != nil {
		return Program{}, fmt.Errorf("%s is %s on %s, so the program is that of the release: %w. Or %s", m.What, m.System, m.Processor, err, m.Otherwise)
	}
	archive := archiveURL(version, system, processor)
	for line := range strings.Lines(string(sums)) {
		if sum, file, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && file == path.Base(archive) {
			return Choose(ctx, m, archive, sum, version)
		}
	}
	return Program{}, fmt.Errorf("the release %s has no program for %s, which is %s on %s: %s", version, m.What, m.System, m.Processor, m.Otherwise)
}

// ownSum is the checksum of the program that runs.
var ownSum = sync.OnceValues(func() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(own)
	return Sum(content), err
})

// Sum is the SHA-256 of something in hexadecimal.
func Sum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// fetchProgram reads a program, or a zip archive with one in it, and checks its sum.
func fetchProgram(ctx context.Context, source, sum string) ([]byte, error) {
	content, err := readSource(ctx, source)
	if err != nil {
		return nil, err
	}
	if got := Sum(content); got != sum {
		return nil, fmt.Errorf("wrong checksum: %s should have %s and has %s. Either it changed, or it was tampered with, or `checksum` is wrong", source, sum, got)
	}
	if !bytes.HasPrefix(content, []byte("PK\x03\x04")) {
		return content, nil
	}
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", source, err)
	}
	for _, f := range archive.File {
		if !strings.HasPrefix(f.Name, projectName) {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		defer func() { _ = r.Close() }()
		return readBounded(r)
	}
	return nil, fmt.Errorf("%s has no file %s…", source, projectName)
}

// sourcePatience is how long a download may take, and answerPatience how long its beginning.
const (
	sourcePatience = 10 * time.Minute
	answerPatience = 30 * time.Second
)

// readSource reads a file or a URL.
func readSource(ctx context.Context, source string) ([]byte, error) {
	if !isURL(source) {
		f, err := os.Open(source)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		return readBounded(f)
	}
	ctx, cancel := context.WithTimeout(ctx, sourcePatience)
	defer cancel()
	body, err := openURL(ctx, source)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return readBounded(body)
}

// openURL begins to fetch a URL, as long as the context lasts.
func openURL(ctx context.Context, source string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", source, err)
	}
	if answer.StatusCode != http.StatusOK {
		_ = answer.Body.Close()
		return nil, fmt.Errorf("fetch %s: the server answers %s", source, answer.Status)
	}
	return answer.Body, nil
}

func isURL(source string) bool {
	return strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

// readBounded reads no more than a program may have.
func readBounded(r io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, largestProgram+1))
	if err == nil && len(content) > largestProgram {
		err = errors.New("it is larger than any program of this provider")
	}
	return content, err
}
