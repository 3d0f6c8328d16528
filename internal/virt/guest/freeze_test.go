package guest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// agent is a hypervisor with one guest's agent.
type agent struct {
	told    bool
	refusal error
	// thaws are what it says when it is to let go, one after the other; the last one stays.
	thaws []error
	asked int
}

func (a *agent) FreezeDomain(context.Context, string, int32, int32) (bool, error) {
	return a.told, a.refusal
}

func (a *agent) ThawDomain(context.Context, string) error {
	a.asked++
	return a.thaws[min(a.asked, len(a.thaws))-1]
}

// An agent that does not answer at all is not waited for again, and one that was told to hold file systems is asked to let go until it answers.
func TestAnAgentThatWasToldToHoldFileSystemsIsAskedToLetGo(t *testing.T) {
	t.Parallel()
	says := func(code int) error { return &hypervisor.Error{Code: code} }
	// libvirt's virErrorNumber: an agent that does not answer in time, and any error.
	slow, refuses, broken := says(86), says(1), errors.New("the connection broke")
	for name, c := range map[string]struct {
		agent   agent
		quiesce string
		frozen  bool
		asked   int
		took    time.Duration
		says    string
	}{
		"it holds them":                             {agent{told: true}, Auto, true, 0, 0, ""},
		"nobody wants it":                           {agent{refusal: broken}, None, false, 0, 0, ""},
		"it does not answer":                        {agent{refusal: slow}, Auto, false, 0, 0, ""},
		"it does not answer, and has to":            {agent{refusal: slow}, Required, false, 0, 0, "does not hold its file systems"},
		"it refuses":                                {agent{told: true, refusal: refuses, thaws: []error{refuses}}, Auto, false, 1, 0, ""},
		"it is slow":                                {agent{told: true, refusal: slow, thaws: []error{nil}}, Auto, false, 1, 0, ""},
		"it is slower":                              {agent{told: true, refusal: slow, thaws: []error{slow, broken, nil}}, Auto, false, 3, 2 * time.Second, ""},
		"it is slow, and has to":                    {agent{told: true, refusal: slow, thaws: []error{slow, nil}}, Required, false, 2, time.Second, "does not hold its file systems"},
		"it never answers again":                    {agent{told: true, refusal: slow, thaws: []error{slow}}, Auto, false, 0, thawLimit, "they may be held"},
		"the connection breaks before it was asked": {agent{refusal: broken}, Auto, false, 0, 0, "the connection broke"},
		"the connection breaks as it is told":       {agent{told: true, refusal: broken, thaws: []error{nil}}, Auto, false, 1, 0, "the connection broke"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				frozen, err := Freeze(t.Context(), &c.agent, &hypervisor.Domain{State: "running"}, c.quiesce)
				if frozen != c.frozen || c.took < thawLimit && c.agent.asked != c.asked || time.Since(began) != c.took {
					t.Errorf("it holds them: %t; it was asked %d times to let go, in %s", frozen, c.agent.asked, time.Since(began))
				}
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("it says %v", err)
				}
			})
		})
	}
}
