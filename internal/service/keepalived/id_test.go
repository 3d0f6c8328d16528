package keepalived

import (
	"slices"
	"testing"
)

func TestImportIDsNameTheMembers(t *testing.T) {
	const one, two = "ssh://root@10.0.0.1?host_key=SHA256%3AXCcOkVCOzBqHf3cJ9f6Ey7tC0DkXmTEx7mLknRSSdVg", "ssh://10.0.0.2:2222?proxy_jump=a,b"
	for id, want := range map[string][]Member{
		"a=" + one + ",b=" + two + "#api": {{Name: "a", ID: one}, {Name: "b", ID: two}},
		one + "," + two + "#api":          {{Name: "10.0.0.1", ID: one}, {Name: "10.0.0.2:2222", ID: two}},
		"local:,x=qemu-ga://hv/gw#api":    {{Name: "local", ID: "local:"}, {Name: "x", ID: "qemu-ga://hv/gw"}},
		one + "," + one + "#api":          {{Name: "10.0.0.1", ID: one}, {Name: one, ID: one}},
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			got, name, err := SplitID(id)
			if err != nil || name != "api" || !slices.Equal(got, want) {
				t.Errorf("%s: %v %q %v, not %v", id, got, name, err, want)
			}
		})
	}
	if back := ImportID([]Member{{Name: "a", ID: one}, {Name: "b", ID: two}}, "api"); back != "a="+one+",b="+two+"#api" {
		t.Errorf("back: %s", back)
	}
	for _, bad := range []string{"", "#api", one, one + "#", "10.0.0.250#api"} {
		t.Run(bad, func(t *testing.T) {
			t.Parallel()
			if got, _, err := SplitID(bad); err == nil {
				t.Errorf("%q is %v", bad, got)
			}
		})
	}
}
