package haproxy

import "testing"

func TestAMachineTakesAddressesBackWithTheLastOfItsFrontends(t *testing.T) {
	var r Removals
	if r.back("one", "api") {
		t.Error("a machine that misses nothing takes addresses back")
	}
	r.add("one", "api", true)
	r.add("one", "web", false)
	r.add("two", "api", false)
	if r.back("one", "api") {
		t.Error("addresses come back while a frontend is missing")
	}
	if r.back("two", "api") {
		t.Error("a machine that handed nothing over takes addresses back")
	}
	if !r.back("one", "web") {
		t.Error("addresses do not come back with the last frontend")
	}
	if r.back("one", "web") {
		t.Error("addresses come back twice")
	}
}
