package volume

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

func TestFillKeepsTheSpellingOfTheImage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ image, backing, want string }{
		{"", "", ""},
		{"base", "/srv/okd/base", "base"},
		{"/srv/okd/base", "/srv/okd/base", "/srv/okd/base"},
		{"/srv/okd//../okd/base", "/srv/okd/base", "/srv/okd//../okd/base"},
		{"/srv/okd/base", "/srv//okd/base", "/srv/okd/base"},
		{"base", "/elsewhere/base", "/elsewhere/base"},
		{"base", "", ""},
		{"", "/srv/okd/base", "/srv/okd/base"},
	} {
		t.Run(c.image, func(t *testing.T) {
			t.Parallel()
			m := model{Image: types.StringValue(c.image)}
			if c.image == "" {
				m.Image = types.StringNull()
			}
			fillModel(t.Context(), &m, storage.Volume{Pool: "okd", Name: "v", Path: "/srv/okd/v", Format: "qcow2", SizeGiB: 5, Image: c.backing})
			if m.Image.ValueString() != c.want {
				t.Errorf("image %q over %q reads as %q, want %q", c.image, c.backing, m.Image.ValueString(), c.want)
			}
		})
	}
}
