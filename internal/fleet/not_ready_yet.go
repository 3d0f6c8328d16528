package fleet

import (
	"context"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// NotReadyYetError says that a machine is not asked while planning, as the apply makes it ready first, or makes it at all. It is an
// ErrUnknown.
type NotReadyYetError struct{ Machine string }

func (e *NotReadyYetError) Error() string {
	return fmt.Sprintf("%s is still to be made ready by its virtcluster_service_node", e.Machine)
}

// Is implements errors.Is.
func (e *NotReadyYetError) Is(target error) bool { return target == ErrUnknown }

// Await notes that a machine that is reached by SSH, by its reference, is still to be made ready. Nobody who is Planning gets it
// until it was met, or something else asked it: then it is there.
func (f *Fleet) Await(reference string) {
	e, err := host.ParseEndpoint(reference)
	if err != nil || e.Scheme != host.SSH {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.coming[e.Reference()] = true
}

type planningKey struct{}

// Planning returns a context for a look at machines that is made while planning: where the machine is not there yet, nothing is
// lost without it.
func Planning(ctx context.Context) context.Context {
	return context.WithValue(ctx, planningKey{}, true)
}

func isPlanning(ctx context.Context) bool { return ctx.Value(planningKey{}) != nil }
