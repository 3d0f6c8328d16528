package sshhost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kevinburke/ssh_config"
)

// config is the SSH configuration: the user's file, then the system's; what is found first counts.
type config []*ssh_config.Config

// configFiles are the files that OpenSSH reads.
func (o Options) configFiles() []string {
	return []string{filepath.Join(homeDirectory(), ".ssh/config"), "/etc/ssh/ssh_config"}
}

func readConfig(files []string) (config, error) {
	var c config
	for _, name := range files {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("SSH configuration: %w", err)
		}
		plain := writeSupported(string(text), filepath.Dir(name), 0)
		parsed, err := ssh_config.DecodeBytes([]byte(plain))
		if err != nil {
			return nil, fmt.Errorf("SSH configuration %s: %w", name, err)
		}
		c = append(c, parsed)
	}
	return c, nil
}

// maxIncludes bounds how deep files include each other (ssh_config(5): 16).
const maxIncludes = 16

// writeSupported writes a configuration in what the parser knows: files that are included outside of any block
// are put in place, and Match blocks with conditions that it cannot tell (exec, final, canonical) are left
// out. Fedora's own configuration has such a block, in an included file.
func writeSupported(text, dir string, depth int) string {
	var out strings.Builder
	block, skip := "Host *", false
	for line := range strings.Lines(text) {
		fields := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n=", r) })
		keyword := ""
		if len(fields) > 0 {
			keyword = strings.ToLower(fields[0])
		}
		if keyword == "host" || keyword == "match" {
			block, skip = strings.TrimSpace(line), keyword == "match" && !knowsConditions(fields[1:])
		}
		switch {
		case skip:
		case keyword == "include" && block == "Host *" && depth < maxIncludes:
			for _, pattern := range fields[1:] {
				writeIncluded(&out, strings.Trim(pattern, `"`), dir, depth)
			}
			out.WriteString(block + "\n")
		default:
			out.WriteString(strings.TrimRight(line, "\r\n") + "\n")
		}
	}
	return out.String()
}

// writeIncluded writes the files that an Include's pattern matches; relative ones lie beside the configuration.
func writeIncluded(out *strings.Builder, pattern, dir string, depth int) {
	pattern = expandHome(pattern)
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(dir, pattern)
	}
	names, _ := filepath.Glob(pattern)
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil {
			out.WriteString("Host *\n" + writeSupported(string(text), dir, depth+1))
		}
	}
}

// knowsConditions says whether the parser knows all conditions of a Match line.
func knowsConditions(conditions []string) bool {
	for _, c := range conditions {
		switch strings.TrimPrefix(strings.ToLower(c), "!") {
		case "exec", "final", "canonical", "localnetwork", "tagged", "version", "sessiontype", "command":
			return false
		}
	}
	return true
}

// section is the configuration as it applies to one host.
type section struct {
	config config
	host   string
}

// firstValue returns a keyword's first value, "" where no file has one.
func (s section) firstValue(keyword string) string {
	for _, c := range s.config {
		if value, err := c.Get(s.host, keyword); err == nil && value != "" {
			return value
		}
	}
	return ""
}

// expandPaths returns all values of a keyword that takes a file, or several as UserKnownHostsFile does, with OpenSSH's tokens expanded.
func (s section) expandPaths(keyword string, known settings) []string {
	tokens := strings.NewReplacer("%%", "%", "%d", homeDirectory(), "%h", known.dialHost, "%n", s.host,
		"%p", strconv.Itoa(known.port), "%r", known.user, "%u", loginName())
	var paths []string
	for _, c := range s.config {
		values, err := c.GetAll(s.host, keyword)
		if err != nil {
			continue
		}
		for _, value := range values {
			words := []string{value} // the parser has taken the quotes away, in which a path may have blanks
			if keyword == "UserKnownHostsFile" {
				words = strings.Fields(value)
			}
			for _, word := range words {
				paths = append(paths, expandHome(tokens.Replace(strings.Trim(word, `"`))))
			}
		}
	}
	return paths
}
