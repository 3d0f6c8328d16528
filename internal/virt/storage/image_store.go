package storage

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage/upload"
)

// ImageStore is where one image lives. It implements crud.Store.
type ImageStore struct {
	ownedVolume
	// imported says that the state does not know yet what is in the image.
	imported bool
	tookOver bool
}

// OpenImage returns the store of the image at a place. imported is set for one whose content is to be read.
func OpenImage(ctx context.Context, c *hypervisor.Client, place Place, claim owner.Claim, imported bool) (*ImageStore, error) {
	o, err := openOwned(ctx, c, place, claim)
	return &ImageStore{ownedVolume: o, imported: imported}, err
}

// newImage returns an image as the hypervisor has it.
func newImage(v *hypervisor.Volume) Image {
	return Image{Pool: v.Pool, Name: v.Name(), Format: DiskFormat(v), Path: v.Path(), VirtualSizeBytes: int64(v.Capacity())}
}

// Get reads the image. Its content is read only where it was imported just now.
func (s *ImageStore) Get(ctx context.Context) (Image, error) {
	v, err := s.readVolume(ctx)
	if err != nil {
		return Image{}, err
	}
	got := newImage(v)
	if s.imported {
		err = readSums(ctx, s.client, v, &got)
	}
	return got, err
}

// readSums reads an image that was just imported, and notes what is in it.
func readSums(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume, got *Image) error {
	h256, h512 := sha256.New(), sha512.New()
	tflog.Info(ctx, "reading the imported image for its checksum", map[string]any{"volume": v.Path()})
	if err := c.DownloadVolume(ctx, v, 0, 0, &loggedWriter{Writer: io.MultiWriter(h256, h512), ctx: ctx, volume: v.Path(), last: time.Now()}); err != nil {
		return err
	}
	text := func(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }
	got.Source = v.Path() // all that is known of where it comes from is where it is
	got.Checksum = "sha256:" + text(h256)
	got.Sums = map[string]string{"sha256": text(h256), "sha512": text(h512)}
	return nil
}

// loggedWriter logs how far a volume has been read.
type loggedWriter struct {
	io.Writer
	ctx    context.Context
	volume string
	done   int64
	last   time.Time
}

func (r *loggedWriter) Write(p []byte) (int, error) {
	r.done += int64(len(p))
	if now := time.Now(); now.Sub(r.last) >= upload.ReportEvery {
		r.last = now
		tflog.Info(r.ctx, "reading image", map[string]any{"volume": r.volume, "mib": r.done >> 20})
	}
	return r.Writer.Write(p)
}

// Create uploads the image. What a killed run of this workspace left of it is removed, or taken over where it is complete.
func (s *ImageStore) Create(ctx context.Context, want Image) (Image, error) {
	req, err := newUploadRequest(want)
	if err != nil {
		return Image{}, err
	}
	record := &UploadRecord{}
	if req.Source.IsLocal() {
		// Before it is read, so that a change meanwhile shows.
		if err := record.noteFile(req.Source); err != nil {
			return Image{}, err
		}
	}
	if req.Leftover, err = s.beginCreate(ctx); err != nil {
		return Image{}, err
	}
	if req.Leftover != nil {
		err = awaitUnused(ctx, s.client, req.Leftover, "")
	}
	var made upload.Result
	if err == nil {
		made, err = upload.Run(ctx, s.client, req)
	}
	if errors.Is(err, hypervisor.ErrExists) { // another run was faster
		if _, _, foreign := s.findVolume(ctx); foreign != nil {
			err = foreign
		}
	}
	if err != nil && made.Volume == nil {
		return Image{}, errors.Join(err, s.withdrawMark(ctx, req.Leftover != nil && !made.Replaced))
	}
	s.tookOver = made.TookOver
	got := newImage(made.Volume)
	got.Format, got.SourceSHA256 = made.Format, made.SHA256
	record.Format, record.VirtualSize, record.CRC = got.Format, got.VirtualSizeBytes, made.CRC32C
	got.Upload = record
	if err == nil {
		err = s.takeOver(ctx, made.Volume)
	}
	if err != nil {
		return got, &service.Unfinished{Made: true, Err: err}
	}
	return got, nil
}

// newUploadRequest returns the upload that makes an image.
func newUploadRequest(want Image) (upload.Request, error) {
	src, err := upload.ParseSource(want.Source)
	if err != nil {
		return upload.Request{}, err
	}
	sum, err := upload.ParseChecksum(want.Checksum)
	return upload.Request{Pool: want.Pool, Name: want.Name, Source: src, Checksum: sum, Format: want.Format, Mode: MarkedMode}, err
}

// noteFile remembers what a local source looks like.
func (r *UploadRecord) noteFile(src upload.Source) error {
	info, err := src.Stat()
	if err != nil {
		return err
	}
	r.Size, r.ModTime = info.Size(), info.ModTime().UnixNano()
	return nil
}

// Update marks the image as this state's, and remembers a new source: what else can change without an upload is where the same
// content comes from.
func (s *ImageStore) Update(ctx context.Context, was, want Image) (Image, error) {
	v, err := s.readVolume(ctx)
	if err != nil {
		return Image{}, err
	}
	if err := s.takeOver(ctx, v); err != nil {
		return Image{}, err
	}
	got := newImage(v)
	got.Upload = renewRecord(was.Upload, want.Source)
	return got, nil
}

// renewRecord returns the record of an upload whose source is another one now, with the same content: the new file's size and time
// are what later plans compare. Where the file cannot be read now, the record has none, and it is not compared.
func renewRecord(was *UploadRecord, source string) *UploadRecord {
	src, err := upload.ParseSource(source)
	if was == nil || err != nil {
		return was
	}
	now := &UploadRecord{Format: was.Format, VirtualSize: was.VirtualSize}
	if src.IsLocal() {
		file := *now
		err := file.noteFile(src)
		if err == nil {
			file.CRC, err = src.CRC32C()
		}
		if err == nil {
			now = &file
		}
	}
	return now
}

// Delete removes the image. One that is in use stays, with an *InUseError.
func (s *ImageStore) Delete(ctx context.Context) error { return s.deleteVolume(ctx) }

// Warnings implements crud.Warner.
func (s *ImageStore) Warnings() []service.Problem {
	if !s.tookOver {
		return nil
	}
	return []service.Problem{service.Warningf(nil, fmt.Sprintf("Took over image %q", s.place.ImportID()),
		"A volume of that name with the very same content was in the pool already, as an interrupted apply of this configuration leaves it. It is deleted when this resource is destroyed.")}
}
