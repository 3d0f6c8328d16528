package host

import (
	"archive/tar"
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// sparseHeader is an archive of one file that is nothing but a hole, as GNU's tar wrote it before POSIX had a way.
func sparseHeader(size int64) []byte {
	b := make([]byte, 512)
	for at, text := range map[int]string{
		0: "etc/x", 100: "0000644\x00", 108: "0000000\x00", 116: "0000000\x00", 124: "00000000000\x00", 136: "00000000000\x00", 156: "S", 257: "ustar  \x00",
		386: fmt.Sprintf("%011o\x00", size), 398: "00000000000\x00", 483: fmt.Sprintf("%011o\x00", size), 148: "        ",
	} {
		copy(b[at:], text)
	}
	sum := 0
	for _, c := range b {
		sum += int(c)
	}
	copy(b[148:], fmt.Sprintf("%06o\x00 ", sum))
	return append(b, make([]byte, 1024)...)
}

// sparseRecords is the same as POSIX has it (GNU.sparse 1.0): a regular file whose map of what it holds is at the beginning of its content.
func sparseRecords(t *testing.T, size int64) []byte {
	t.Helper()
	content := append([]byte(fmt.Sprintf("1\n%d\n0\n", size)), make([]byte, 512)...)[:512]
	records := ""
	for _, record := range []string{"GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=etc/x", fmt.Sprintf("GNU.sparse.realsize=%d", size)} {
		records += fmt.Sprintf("%d %s\n", len(record)+4, record) // two digits, a blank and the newline
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "GNUSparseFile/x", Size: int64(len(content)), Format: tar.FormatUSTAR})
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	var x bytes.Buffer
	w = tar.NewWriter(&x)
	err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "PaxHeaders/x", Size: int64(len(records)), Format: tar.FormatUSTAR})
	if err == nil {
		_, err = w.Write([]byte(records))
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	head := x.Bytes()
	head[156] = 'x'
	copy(head[148:], "        ")
	sum := 0
	for _, c := range head[:512] {
		sum += int(c)
	}
	copy(head[148:], fmt.Sprintf("%06o\x00 ", sum))
	return append(head, b.Bytes()...)
}

// A machine that somebody took over answers with 1.5 KB that would be half a GiB.
func TestAnArchiveHoldsNoMoreThanItIsLong(t *testing.T) {
	var link bytes.Buffer
	w := tar.NewWriter(&link)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "etc/x", Linkname: "/etc/shadow"}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		archive []byte
		want    string
	}{
		"holes of GNU":    {sparseHeader(512 << 20), "no regular file"},
		"holes of POSIX":  {sparseRecords(t, 512<<20), "more than the archive"},
		"a link":          {link.Bytes(), "no regular file"},
		"cut in the file": {sparseHeader(0)[:100], "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := parseFiles(append([]byte("tar\n"), c.archive...))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d files, %v", len(files), err)
			}
		})
	}
}
