package upload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
)

func TestOnlyWhatIsSureToTakeRoomIsCounted(t *testing.T) {
	const mib = 1 << 20
	file := func(name string, content []byte, size int64) Source {
		path := filepath.Join(t.TempDir(), name)
		if err := errors.Join(os.WriteFile(path, content, 0o600), os.Truncate(path, size)); err != nil {
			t.Fatal(err)
		}
		return Source{file: path}
	}
	full := bytes.Repeat([]byte{7}, 4*mib)
	web := Source{url: &url.URL{Scheme: "https", Host: "example.org"}}
	raw, packed, qcow := &content{format: "raw"}, &content{format: "raw", compressed: true}, &content{format: "qcow2"}
	for name, c := range map[string]struct {
		source Source
		image  *content
		size   int64
		want   int64
	}{
		"a file":                     {file("a", full, 4*mib), raw, 4 * mib, 4 * mib},
		"a sparse file":              {file("b", full[:mib], 100*mib), raw, 100 * mib, mib},
		"a file with written zeros":  {file("c", append(make([]byte, 4*mib), 1), 4*mib+1), raw, 4*mib + 1, 1},
		"a compressed file":          {file("d", full, 4*mib), packed, 4 * mib, 0},
		"a download of qcow2":        {web, qcow, 4 * mib, 4 * mib},
		"a download of unknown size": {web, qcow, -1, 0},
		"a download of raw content":  {web, raw, 4 * mib, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := estimateLeastRoom(c.source, c.image, c.size, 2*mib); err != nil || got != c.want {
				t.Errorf("%s needs %d, %v, want %d", name, got, err, c.want)
			}
		})
	}
}

func TestContentEndsBeforeThePoolIsFull(t *testing.T) {
	full := errors.New("full")
	some := append(make([]byte, 8*holeLength), bytes.Repeat([]byte{1}, 2*holeLength)...)
	for room, want := range map[int64]error{2 * holeLength: nil, 2*holeLength - 1: full} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			got, err := io.ReadAll(&meteredReader{Reader: iotest.HalfReader(bytes.NewReader(some)), reserve: func(bytes int64) error {
				if bytes > room {
					return full
				}
				return nil
			}})
			if !errors.Is(err, want) || want == nil && !bytes.Equal(got, some) {
				t.Errorf("with room for %d: %d bytes, %v", room, len(got), err)
			}
		})
	}
}
