package acctest

import (
	"os"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// More goroutines than there are idle threads hold one each at the same time, so that each idle thread is taken.
func TestNoGoroutineGetsTheFirstThread(t *testing.T) {
	const goroutines = 100
	var all sync.WaitGroup
	release, threads := make(chan struct{}), make(chan int, goroutines)
	for range goroutines {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			threads <- unix.Gettid()
			<-release
		})
	}
	for range goroutines {
		if thread := <-threads; thread == os.Getpid() {
			t.Errorf("a goroutine has the first thread, %d", thread)
		}
	}
	close(release)
	all.Wait()
}
