package acctest

import "runtime"

// init keeps the process's first thread for main. A test that changes its thread's network namespace gets another one:
// /proc/net shows the first thread's namespace to the whole process, and the provider, which runs in it, reads the
// hypervisor's routes there.
func init() { runtime.LockOSThread() }
