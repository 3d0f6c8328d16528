package storage

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

func TestAPoolOfAHypervisorThatDoesNotAnswerIsAnError(t *testing.T) {
	t.Parallel()
	c, err := hypervisor.New("qemu+unix:///system?socket="+filepath.Join(t.TempDir(), "none"), sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	s := &PoolStore{Client: c, Name: "metal"}
	err = s.MayCreate(ctx)
	if foreign := new(*owner.ForeignError); err == nil || errors.As(err, foreign) {
		t.Errorf("the error is %v", err)
	}
}
