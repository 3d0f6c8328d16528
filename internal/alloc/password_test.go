package alloc

import (
	"strings"
	"testing"
)

func TestPasswordsStayAndDifferByWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	const first = "1L547PlH"
	if got := Password("secret", "vrrp", 8); got != first {
		t.Errorf("the password is %q, and was %q: states of any version have to agree", got, first)
	}
	if got := Password("secret", "vrrp", 64); !strings.HasPrefix(got, first) || len(got) != 64 {
		t.Errorf("a longer one is %q", got)
	}
	for _, other := range []string{Password("secret", "stats", 8), Password("another", "vrrp", 8), Password("secretv", "rrp", 8)} {
		if other == first {
			t.Errorf("%q is that of another purpose or secret too", other)
		}
	}
}

func TestPasswordsUseEveryCharacterAboutEquallyOften(t *testing.T) {
	t.Parallel()
	const each = 1000
	counts := map[rune]int{}
	for _, c := range Password("secret", "", each*len(passwordCharacters)) {
		counts[c]++
	}
	for _, c := range passwordCharacters {
		if n := counts[c]; n < each*8/10 || n > each*12/10 {
			t.Errorf("%q came %d times, and not about %d", c, n, each)
		}
	}
	if len(counts) != len(passwordCharacters) {
		t.Errorf("%d characters", len(counts))
	}
}
