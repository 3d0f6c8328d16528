package storage

import (
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage/upload"
)

// Image is a base image in a pool in plain values, with the names of their attributes (convert.ToPlain).
type Image struct {
	Pool string `attr:"pool"`
	Name string `attr:"name"`
	// Source is where it comes from: a URL or a file; of an imported image it is the volume's path, and Imported says so.
	Source string `attr:"source"`
	// Checksum of the source, "sha256:…" or "sha512:…"; "" for none.
	Checksum string `attr:"checksum"`
	// Format is "qcow2" or "raw"; "" takes what the source is.
	Format string `attr:"format"`
	// Path is where the volume is on the hypervisor, VirtualSizeBytes what a machine sees; zero for one that is to be made.
	Path             string `attr:"id"`
	VirtualSizeBytes int64  `attr:"virtual_size_bytes,zero"`
	// SourceSHA256 is the source's sum in hexadecimal; "" where it was not computed.
	SourceSHA256 string `attr:"source_sha256"`
	// Upload is what is remembered of the upload; nil for an imported image.
	Upload *UploadRecord
	// Sums of an imported image's content, by the algorithm: whichever the configuration names, it can be compared without
	// reading the volume again.
	Sums map[string]string
}

// UploadRecord is what a plan has to know of an upload, to see what happened since.
type UploadRecord struct {
	// Format and VirtualSize of the volume as it was uploaded.
	Format      string `json:"format"`
	VirtualSize int64  `json:"virtual_size"`
	// Size and ModTime (Unix nanoseconds) of a local source when it was read, ModTime 0 for a URL, and
	// its CRC-32C.
	Size    int64  `json:"size"`
	ModTime int64  `json:"mod_time"`
	CRC     uint32 `json:"crc32c"`
}

// Validate finds what is wrong without asking a hypervisor. The form of source and checksum is checked where they are written.
func (i Image) Validate() []service.Problem { return checkName(i.Name) }

// IsImported says that nobody knows what the image was made from.
func (i Image) IsImported() bool { return i.Source == "" || i.Source == i.Path }

// HasSum says that a checksum is that of the image's content, or of the source that it was made from.
func (i Image) HasSum(text string) bool {
	want, err := upload.ParseChecksum(text)
	if err != nil {
		return false // said already
	}
	return i.hasSource(want) || want.Sum != "" && i.Sums[want.Algorithm] == want.Sum
}

// hasSource says that a checksum is known to be that of what was uploaded.
func (i Image) hasSource(sum upload.Checksum) bool {
	if sum.Algorithm == "sha256" && i.SourceSHA256 == sum.Sum {
		return true
	}
	before, err := upload.ParseChecksum(i.Checksum)
	return err == nil && before == sum
}

// Planned is an image as a plan has it: what is not known yet may turn out to be anything.
type Planned struct {
	Image
	SourceUnknown, ChecksumUnknown bool
}

// Compare says for which attributes the image has to be uploaded anew. It looks at local sources, and asks no hypervisor.
func (i Image) Compare(want Planned) []Change {
	var changes []Change
	because := func(attribute string) []Change {
		return append(changes, Change{Attribute: attribute, Effect: Anew})
	}
	if was := i.Upload; was != nil && (i.VirtualSizeBytes != was.VirtualSize || i.Format != toDiskFormat(was.Format)) {
		changes = because("virtual_size_bytes") // somebody put another volume in its place
	}
	// An imported image was made from something that is not known: it is taken at its word.
	if i.IsImported() {
		return changes
	}
	if want.ChecksumUnknown {
		return because("checksum")
	}
	sum, err := upload.ParseChecksum(want.Checksum)
	if err != nil {
		return changes // said already
	}
	if sum.Algorithm != "" {
		if !i.hasSource(sum) && (want.SourceUnknown || !i.isStillSource(want.Source, sum)) {
			return because("checksum")
		}
		return changes
	}
	if want.SourceUnknown || i.Source != want.Source {
		return because("source")
	}
	if src, err := upload.ParseSource(want.Source); err == nil && src.IsLocal() && i.Upload.isOtherFile(src) {
		return because("source_sha256")
	}
	return changes
}

// toDiskFormat reads the format of a record: versions before noted libvirt's word, such as "iso".
func toDiskFormat(format string) string {
	if format == "qcow2" {
		return format
	}
	return "raw"
}

// isStillSource says that a local file is the one that was uploaded, and has the checksum that is asked for now.
func (i Image) isStillSource(source string, sum upload.Checksum) bool {
	src, err := upload.ParseSource(source)
	if err != nil || !src.IsLocal() || i.Upload == nil || i.Upload.ModTime == 0 || i.Source != source || i.Upload.isOtherFile(src) {
		return false
	}
	same, err := src.HasChecksum(sum)
	return err == nil && same
}

// isOtherFile says whether a local file is another one than was uploaded. Its size and time tell nearly always;
// only a file that was touched is read. One that cannot be looked at is needed by nobody now.
func (r *UploadRecord) isOtherFile(src upload.Source) bool {
	if r == nil || r.ModTime == 0 {
		return false
	}
	info, err := src.Stat()
	switch {
	case err != nil:
		return false
	case info.Size() != r.Size:
		return true
	case info.ModTime().UnixNano() == r.ModTime:
		return false
	}
	crc, err := src.CRC32C()
	return err == nil && crc != r.CRC
}
