package machine

import (
	"context"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage/upload"
)

// answerPatience is how long what is at a URL may take to show, while planning, that it is a disc.
const answerPatience = 15 * time.Second

// checkCDROM finds a volume that is not there or is no image of a disc, and a URL that does not answer with one.
func (k storageChecker) checkCDROM(ctx context.Context) error {
	want := k.Want.CDROM
	if want == nil || !k.Fresh && samePointed(want, k.Was.CDROM) {
		return nil
	}
	if want.URL != "" {
		k.checkDiscURL(ctx, want.URL)
	}
	if want.Image == "" {
		return nil
	}
	v, err := k.Cache.Volume(ctx, k.Client, want.Image)
	if IsMissing(err) {
		k.addProblem(pathTo("cdrom", "image"), "Unknown image", "hypervisor %s has no volume %s in a storage pool that is started: write the id of a virtcluster_image", k.Client.URI(), want.Image)
		return nil
	}
	if err != nil {
		return err
	}
	if err := checkDiscVolume(ctx, k.Client, v); err != nil {
		k.addProblem(pathTo("cdrom", "image"), "No image of a disc", "%v: write the id of a virtcluster_image that was made of an ISO image", err)
	}
	return nil
}

// checkDiscURL asks for the beginning of what is at a URL. One that answered once while planning is not asked again.
func (k storageChecker) checkDiscURL(ctx context.Context, url string) {
	_, err := askOnce(k.Cache, question{k.Client, "disc", url}, func() (struct{}, error) {
		patient, cancel := context.WithTimeout(ctx, answerPatience)
		defer cancel()
		content, err := openDisc(patient, url, upload.Source.Probe)
		if err == nil {
			err = content.Close()
		}
		return struct{}{}, err
	})
	if err != nil {
		k.addProblem(pathTo("cdrom", "url"), "No disc at the URL", "%v: write the URL of an ISO image that the machine which runs Terraform can fetch", err)
	}
}
