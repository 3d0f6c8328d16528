package failpoint

import (
	"errors"
	"testing"
)

func TestArmLeavesAScriptAsItIs(t *testing.T) {
	const script = "set -eu\nmv a b\n# failpoint moved\nmv c d\n"
	if got := Arm(script); got != script {
		t.Errorf("the script is %q", got)
	}
}

func TestSendEndsAsItsJudgeSays(t *testing.T) {
	refused, lost := errors.New("refused"), errors.New("lost")
	for name, c := range map[string]struct {
		before, after, want error
		made                int
	}{
		"no judge's word": {nil, nil, nil, 1},
		"refused":         {refused, nil, refused, 0},
		"answer lost":     {nil, lost, lost, 1},
	} {
		t.Run(name, func(t *testing.T) {
			made := 0
			ctx := WithJudge(t.Context(), func(_ string, answered bool) error {
				if answered {
					return c.after
				}
				return c.before
			})
			_, err := Send(ctx, "a request", func() (int, error) { made++; return 7, nil })
			if !errors.Is(err, c.want) || made != c.made {
				t.Errorf("ended with %v, made %d times", err, made)
			}
		})
	}
	if got, err := Send(t.Context(), "a request", func() (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("without a judge %d, %v", got, err)
	}
}
