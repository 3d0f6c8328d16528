package fleet

// ErrOffline says that the provider's configuration forbids to ask anything outside. It is an ErrUnknown, so that who may do
// without an answer does.
var ErrOffline error = offlineError{}

type offlineError struct{}

func (offlineError) Error() string {
	return "the provider is offline: with offline = true it checks plans by themselves, asks nothing outside and changes nothing. Take `offline` out of the provider's configuration"
}

// Is implements errors.Is.
func (offlineError) Is(target error) bool { return target == ErrUnknown }

// Offline says whether nothing outside may be asked, nor changed.
func (f *Fleet) Offline() bool { return f.config.Offline }
