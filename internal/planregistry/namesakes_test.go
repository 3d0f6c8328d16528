package planregistry

import "testing"

func TestWhoComesSecondSeesItsNamesake(t *testing.T) {
	a, b := Claim{"network", "the machine", "a"}, Claim{"network", "the machine", "b"}
	var n Namesakes
	if n.Make(a) || n.Remove(b) {
		t.Error("a namesake is seen where there is none")
	}
	if !n.Remove(a) || !n.Make(b) {
		t.Error("the second does not see the first")
	}
	if !n.Make(a) || !n.Remove(b) {
		t.Error("an object that is planned again does not see its namesake")
	}
}
