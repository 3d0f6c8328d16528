package keepalived

import (
	"fmt"
	"slices"
	"strings"
)

// longestScript is the most bytes of a script that are put on a machine.
const longestScript = 64 << 10

// checkContent checks a whole script.
func (p *problems) checkContent(t Track, path func(string) []any) {
	p.addUnless(findInterpreter(t.Content) != "", path("script_content"), "Invalid script",
		"the first line has to name the program that runs the script by its full path, such as #!/bin/sh")
	p.addUnless(!strings.ContainsAny(t.Content, "\x00\r") && len(t.Content) <= longestScript, path("script_content"), "Invalid script",
		"a script is a text of at most %d KiB whose lines end with a line feed alone", longestScript>>10)
}

func (p *problems) checkScript(t Track, path func(string) []any) {
	if t.Content != "" {
		p.checkContent(t, path)
	} else {
		p.checkCommand(t, path)
	}
	for name, n := range map[string]int{"interval": t.Interval, "timeout": t.Timeout} {
		p.addUnless(n <= longest, path(name), fmt.Sprintf("Invalid %s", name), "must be at most %d seconds, not %d", longest, n)
	}
	for name, n := range map[string]int{"interval": t.Interval, "rise": t.Rise, "fall": t.Fall} {
		p.addUnless(n >= 1 && n <= largest, path(name), fmt.Sprintf("Invalid %s", name), "must be at least 1, not %d", n)
	}
	p.addUnless(t.Timeout >= 0, path("timeout"), "Invalid timeout", "must not be negative, but is %d", t.Timeout)
	p.addUnless(userRule.MatchString(t.User), path("user"), "Invalid user", "write the name of a user, not %q", t.User)
}

// checkCommand checks a command line.
func (p *problems) checkCommand(t Track, path func(string) []any) {
	p.addUnless(strings.HasPrefix(t.Script, "/"), path("script"), "Invalid script", "write the full path of a program, then its arguments: keepalived runs it without a shell")
	p.addUnless(!slices.ContainsFunc(strings.Fields(t.Script), func(word string) bool { return slices.Contains(shellWords, word) }), path("script"), "Shell syntax in a command",
		"keepalived runs the command without a shell, so what joins commands would be an argument of the first one: write the script in script_content, after a line #!/bin/sh")
	p.addUnless(isPlain(t.Script) && strings.Join(strings.Fields(t.Script), " ") == t.Script, path("script"), "Invalid script",
		"a command in keepalived.conf is one line with single spaces and without double quotes and backslashes: put more into script_content")
}

// shellWords are what only a shell understands where they stand alone.
var shellWords = []string{"&&", "||", "|", ";", "&", ">", "<", ">>", "2>&1"}
