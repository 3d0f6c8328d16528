package fleet

import "fmt"

// LostError says that a hypervisor is gone for good, as the provider's configuration says. It is an ErrUnknown, as nothing there is asked; what
// is removed there is let go of.
type LostError struct{ Hypervisor string }

func (e *LostError) Error() string {
	return fmt.Sprintf("hypervisor %q is lost, as `lost` of the provider's hypervisors says", e.Hypervisor)
}

// Is implements errors.Is.
func (e *LostError) Is(target error) bool { return target == ErrUnknown }
