// Package cloudinit holds what a machine is told at its first boot: NoCloud's files, the image they travel
// in, the network configuration derived from a machine's interfaces, and what can be said about their
// correctness without booting it.
package cloudinit

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/kdomanski/iso9660"
)

// Label is the volume label by which NoCloud finds its disk.
const Label = "cidata"

// sectorSize is ISO 9660's; disks have whole ones.
const sectorSize = 2048

// Seed is NoCloud's files; an empty optional one is left out of the image.
type Seed struct {
	MetaData, UserData string
	// VendorData and NetworkConfig are optional.
	VendorData, NetworkConfig string
}

// listFiles lists the image's files with their contents, in the order they are written.
func (s *Seed) listFiles() []struct {
	name    string
	content *string
} {
	return []struct {
		name    string
		content *string
	}{
		{"meta-data", &s.MetaData}, {"network-config", &s.NetworkConfig}, {"user-data", &s.UserData}, {"vendor-data", &s.VendorData},
	}
}

// Image renders the seed as an ISO 9660 image of some hundred kilobytes.
func (s *Seed) Image() (_ []byte, err error) {
	w, err := iso9660.NewWriter()
	if err != nil {
		return nil, fmt.Errorf("cannot make seed image: %w", err)
	}
	// The writer stages the files, which hold passwords and keys, in a directory of its own.
	defer func() { err = errors.Join(err, w.Cleanup()) }()
	for _, f := range s.listFiles() {
		// cloud-init requires user-data and meta-data to be there, be they empty.
		if *f.content == "" && f.name != "user-data" && f.name != "meta-data" {
			continue
		}
		if err := w.AddFile(bytes.NewReader([]byte(*f.content)), f.name); err != nil {
			return nil, fmt.Errorf("cannot add %s to seed image: %w", f.name, err)
		}
	}
	var image bytes.Buffer
	if err := w.WriteTo(&image, Label); err != nil {
		return nil, fmt.Errorf("cannot write seed image: %w", err)
	}
	if rest := image.Len() % sectorSize; rest != 0 {
		image.Write(make([]byte, sectorSize-rest))
	}
	return image.Bytes(), nil
}

// ReadImage is Image's inverse.
func ReadImage(image []byte) (*Seed, error) {
	i, err := iso9660.OpenImage(bytes.NewReader(image))
	if err != nil {
		return nil, fmt.Errorf("cannot read seed image: %w", err)
	}
	root, err := i.RootDir()
	if err != nil {
		return nil, fmt.Errorf("cannot read seed image: %w", err)
	}
	found, err := root.GetChildren()
	if err != nil {
		return nil, fmt.Errorf("cannot read seed image: %w", err)
	}
	s := &Seed{}
	for _, file := range found {
		for _, f := range s.listFiles() {
			if f.name != file.Name() {
				continue
			}
			content, err := io.ReadAll(file.Reader())
			if err != nil {
				return nil, fmt.Errorf("cannot read %s in seed image: %w", f.name, err)
			}
			*f.content = string(content)
		}
	}
	return s, nil
}
