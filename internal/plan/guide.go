package plan

import (
	"fmt"
	"regexp"
	"strings"
)

// Guide returns the rows of the guide on cross-checks: one for each of the Rules, with the form of its message.
func Guide() string {
	var b strings.Builder
	b.WriteString("| refused | because the plan has | message |\n|---|---|---|\n")
	for _, r := range Rules {
		fmt.Fprintf(&b, "| %s%s | %s%s | %s: %s |\n", r.Mine.Name, stateWords[r.MineIs], r.Theirs.Name, stateWords[r.TheirsIs],
			r.Summary, strings.Join(strings.Fields(strings.ReplaceAll(r.Detail, "|", "\\|")), " "))
	}
	return b.String()
}

var stateWords = map[State]string{Goes: " that goes", Made: ", made by the plan", Changed: ", made or changed by the plan", New: ", not had before"}

var blank = regexp.MustCompile(`\\\{[^}]*\\\}`)

// Words says whether a message is one of the rule's.
func (r Rule) Words(summary, detail string) bool {
	form := blank.ReplaceAllString(regexp.QuoteMeta(r.Detail), ".*")
	return summary == r.Summary && regexp.MustCompile(`(?s)^(\S+: )?`+form+`$`).MatchString(detail)
}

// ReplaceGuide returns a guide with the rows of today between the lines that mark them.
func ReplaceGuide(guide string) (string, error) {
	before, rest, begins := strings.Cut(guide, guideBegins)
	_, after, ends := strings.Cut(rest, guideEnds)
	if !begins || !ends {
		return "", fmt.Errorf("the guide has no lines %q and %q", guideBegins, guideEnds)
	}
	return before + guideBegins + "\n\n" + Guide() + "\n" + guideEnds + after, nil
}

const (
	guideBegins = "<!-- The rules of internal/plan, written by tools/generate -->"
	guideEnds   = "<!-- End of the rules -->"
)
