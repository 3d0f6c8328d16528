package upload

import "testing"

func TestOnlyWhatIsNotWrittenYetIsKeptForAnUpload(t *testing.T) {
	var all roomByPool
	p := all.findPoolRoom("qemu:///system", "a")
	if all.findPoolRoom("qemu:///system", "b") == p || all.findPoolRoom("qemu+ssh://kvm2/system", "a") == p || all.findPoolRoom("qemu:///system", "a") != p {
		t.Fatal("pools are mixed up")
	}
	g := meter{
		written: func(volume string) int64 { return map[string]int64{"half": 50, "more": 200}[volume] },
		free:    func() (int64, error) { return 1000, nil },
	}
	kept := []*reservation{p.reserveRoom("half", 100, g), p.reserveRoom("more", 100, g), p.reserveRoom("none", 100, g), p.reserveRoom("unknown", 0, g)}
	for n, want := range []int64{850, 900, 900, 1000} {
		if err := p.measureLeft(g); err != nil || p.left != want {
			t.Errorf("after %d releases %d is left, %v, want %d", n, p.left, err, want)
		}
		kept[n].releaseRoom()
	}
	if len(p.reservations) > 0 {
		t.Errorf("left: %v", p.reservations)
	}
}

// Of none of them was known how much it takes.
func TestImagesThatGrowShareTheRoom(t *testing.T) {
	p, free := &poolRoom{}, int64(100)
	g := meter{written: func(string) int64 { return 0 }, free: func() (int64, error) { return free, nil }}
	if err := p.measureLeft(g); err != nil {
		t.Fatal(err)
	}
	a, b := p.reserveRoom("a", 0, g), p.reserveRoom("b", 0, g)
	reach := func(who string, u *reservation, bytes int64, want bool) {
		t.Helper()
		enough, room, others, err := u.extendRoom(bytes)
		if err != nil || enough != want {
			t.Errorf("%s reaches %d: %t, with %d beside %d, %v", who, bytes, enough, room, others, err)
		}
		if !enough && (room != 40 || others != 60) {
			t.Errorf("%s could have had %d beside %d, want 40 and 60", who, room, others)
		}
	}
	reach("a", a, 60, true)
	reach("b", b, 30, true)
	reach("b", b, 20, true) // no step back
	reach("b", b, 41, false)
	reach("b", b, 40, true)
	b.releaseRoom() // it failed, and its volume is gone
	reach("a", a, 100, true)
	free = 120 // somebody deleted something
	reach("a", a, 120, true)
}
