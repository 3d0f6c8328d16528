package failpoint

import (
	"context"
	"sync"
)

// Judge decides how a request to a machine or a hypervisor ends: it is asked before the request is sent, and again once it was
// answered. An error of it is the request's.
type Judge func(what string, answered bool) error

type judgeKey struct{}

// WithJudge has all requests that are made under the context ask a test how they end.
func WithJudge(ctx context.Context, judge Judge) context.Context {
	return context.WithValue(ctx, judgeKey{}, judge)
}

// BreakFrom returns a context under which a request, by its number from 1, and all behind it are not sent, as if the run was killed there, and what
// says whether it came to that.
func BreakFrom(ctx context.Context, from int, broken error) (context.Context, func() bool) {
	var mu sync.Mutex
	made := 0
	judge := func(_ string, answered bool) error {
		mu.Lock()
		defer mu.Unlock()
		if !answered {
			made++
		}
		if made >= from {
			return broken
		}
		return nil
	}
	return WithJudge(ctx, judge), func() bool {
		mu.Lock()
		defer mu.Unlock()
		return made >= from
	}
}

// Send makes a request, and returns how it ended. Only under a context of WithJudge that may differ from what the machine answered.
func Send[T any](ctx context.Context, what string, request func() (T, error)) (T, error) {
	judge, _ := ctx.Value(judgeKey{}).(Judge)
	if judge == nil {
		return request()
	}
	var none T
	if err := judge(what, false); err != nil {
		return none, err
	}
	got, err := request()
	if err == nil {
		if err = judge(what, true); err != nil {
			return none, err
		}
	}
	return got, err
}
