package machine

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// rewriteContent writes the seed and the Ignition file anew where they say something else.
func (u *update) rewriteContent(ctx context.Context) error {
	for _, own := range u.rewrite {
		if u.sameContent(own.key) {
			_, err := u.c.Volume(ctx, own.pool.Name(), own.xml.Name)
			if err == nil {
				continue
			}
			if !hypervisor.IsNotFound(err) {
				return err
			}
		}
		if err := u.volumeOwner.replaceContent(ctx, own); err != nil {
			return err
		}
	}
	return nil
}

// sameContent says that cloud-init or Ignition is told what it was told before.
func (u *update) sameContent(key string) bool {
	if key == Ignition {
		old, err := renderIgnition(u.was)
		now, err2 := renderIgnition(u.want)
		return err == nil && err2 == nil && old == now
	}
	old, err := buildSeed(u.was, u.d.UUID)
	now, err2 := buildSeed(u.want, u.d.UUID)
	return err == nil && err2 == nil && u.was.HasSeed() && *old == *now
}
