package haproxyfrontend

import "testing"

func TestAMachineTakesAddressesBackWithTheLastOfItsFrontends(t *testing.T) {
	var r removals
	if r.noteReturn("one", "api") {
		t.Error("a machine that misses nothing takes addresses back")
	}
	r.noteRemoval("one", "api", true)
	r.noteRemoval("one", "web", false)
	r.noteRemoval("two", "api", false)
	if r.noteReturn("one", "api") {
		t.Error("addresses come back while a frontend is missing")
	}
	if r.noteReturn("two", "api") {
		t.Error("a machine that handed nothing over takes addresses back")
	}
	if !r.noteReturn("one", "web") {
		t.Error("addresses do not come back with the last frontend")
	}
	if r.noteReturn("one", "web") {
		t.Error("addresses come back twice")
	}
}
