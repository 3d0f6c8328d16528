package image

import "testing"

func TestOnlyWhatIsNotWrittenYetIsKeptForAnUpload(t *testing.T) {
	var all ledger
	p := all.of("qemu:///system", "a")
	if all.of("qemu:///system", "b") == p || all.of("qemu+ssh://kvm2/system", "a") == p || all.of("qemu:///system", "a") != p {
		t.Fatal("pools are mixed up")
	}
	written := func(volume string) int64 { return map[string]int64{"half": 50, "more": 200}[volume] }
	releases := []func(){p.promise("half", 100), p.promise("more", 100), p.promise("none", 100), p.promise("unknown", 0)}
	for n, want := range []int64{150, 100, 100, 0} {
		if got := p.outstanding(written); got != want {
			t.Errorf("after %d releases %d is kept, want %d", n, got, want)
		}
		releases[n]()
	}
	if len(p.uploads) > 0 {
		t.Errorf("left: %v", p.uploads)
	}
}
