package haproxy

import "testing"

func TestFirstWordBeginsASectionWhereTheFirstOfAllWordsDoes(t *testing.T) {
	for line, want := range map[string]string{
		"": "", "   ": "", "# frontend x": "", "\t# x": "",
		"frontend api": "frontend", "  backend\tb": "backend", "listen#x": "listen", "global": "global",
		`"frontend" x`: `"frontend"`, `front\ end x`: `front\`, `'a b' c`: `'a`,
	} {
		t.Run(line, func(t *testing.T) {
			if got := firstWord(line); got != want {
				t.Errorf("%q: %q, want %q", line, got, want)
			}
			words, _ := rawWords(line)
			if (len(words) == 0) != (want == "") {
				t.Errorf("%q has words %q", line, words)
			}
			for _, s := range sectionWords {
				if whole := len(words) > 0 && words[0] == s; whole != (want == s) {
					t.Errorf("%q begins a section %s: %t", line, s, whole)
				}
			}
		})
	}
}
