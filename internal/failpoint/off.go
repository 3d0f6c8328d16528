//go:build !failpoints

// Package failpoint names the places where a test ends the provider, or a script on a machine: between the steps of a commit, a
// rollback, a swap. It does nothing unless the provider is built with the tag "failpoints".
package failpoint

// Hit is where the provider ends if a test says so.
func Hit(string) {}

// Arm returns a script as it is. With the tag, its line "# failpoint NAME" ends it there if a test says so.
func Arm(script string) string { return script }
