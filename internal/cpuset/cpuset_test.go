package cpuset

import "testing"

func TestASetIsSpelledInOneWay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"0": "0", "2,3": "2-3", "0-3,8": "0-3,8", "8,0-3": "0-3,8", "1,1": "1", "0-0": "0"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			set, err := Parse(text)
			if got := Format(set); err != nil || got != want {
				t.Errorf("%s is spelled %q, want %q; %v", text, got, want, err)
			}
			if err := Check(text); (err == nil) != (text == want) {
				t.Errorf("%s: %v", text, err)
			}
		})
	}
}

func TestWhatIsNoSet(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", "3-1", "-1", "1-", "1,,2", "0-99999999", "^1"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if set, err := Parse(text); err == nil {
				t.Errorf("%q is %v", text, set)
			}
		})
	}
}
