package peer_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
)

// states are those that the other provider made, of both versions, and one that it refreshed.
var states = [][2]string{{"0.8.3", "terraform.tfstate"}, {"0.8.3", "terraform.refreshed.tfstate"}, {"0.9.7", "terraform.tfstate"}}

// held is what of libvirt's XML says which thing it is.
type held struct {
	Name string `xml:"name"`
	UUID string `xml:"uuid"`
	Key  string `xml:"key"`
}

// Every instance of the states names the thing that libvirt held under its name.
func TestReadNamesWhatLibvirtHeld(t *testing.T) {
	t.Parallel()
	found := 0
	for _, from := range states {
		for _, r := range readState(t, from[0], from[1]).Resources {
			kind := r["type"].(string)
			directory := map[string]string{peer.Pool: "pools", peer.Network: "networks", peer.Volume: "volumes", peer.Domain: "domains"}[kind]
			if directory == "" {
				continue
			}
			for n, one := range r["instances"].([]any) {
				found++
				t.Run(fmt.Sprintf("%s %s.%s.%d", strings.Join(from[:], " "), kind, r["name"], n), func(t *testing.T) {
					t.Parallel()
					text, err := json.Marshal(one.(map[string]any)["attributes"])
					if err != nil {
						t.Fatal(err)
					}
					got, err := peer.Read(kind, text)
					if err != nil {
						t.Fatal(err)
					}
					file := "testdata/" + from[0] + "/" + directory + "/"
					if kind == peer.Volume {
						file += got.Pool + "/"
					}
					document, err := os.ReadFile(file + got.Name + ".xml")
					if err != nil {
						t.Fatal(err)
					}
					var is held
					if err := xml.Unmarshal(document, &is); err != nil {
						t.Fatal(err)
					}
					if got.Name != is.Name || got.UUID != is.UUID || got.Path != is.Key {
						t.Errorf("the state names %+v, and libvirt had %+v", got, is)
					}
					if got.HasDisk != (kind == peer.Domain) { // each of these boots from a disk
						t.Errorf("has a disk: %v", got.HasDisk)
					}
				})
			}
		}
	}
	if found < 80 {
		t.Errorf("only %d instances: the test looks in the wrong place", found)
	}
}

func TestReadRefusesWhatNamesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ kind, state string }{
		"a domain without a UUID":           {peer.Domain, `{"id":7,"name":"a","devices":{}}`},
		"a domain without a name":           {peer.Domain, `{"id":"u"}`},
		"a network without anything":        {peer.Network, `{}`},
		"a volume of a pool without a name": {peer.Volume, `{"name":"a"}`},
		"a list":                            {peer.Pool, `[]`},
		"what is no JSON":                   {peer.Pool, `id = 1`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := peer.Read(c.kind, []byte(c.state)); err == nil {
				t.Errorf("read as %+v", got)
			}
		})
	}
}

// A CD is no disk that a domain boots from, in either version.
func TestReadTellsDisksFromCDs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state string
		want  bool
	}{
		"0.8, a file":         {`{"id":"u","name":"a","disk":[{"file":"/a.iso","volume_id":""}]}`, false},
		"0.8, a URL":          {`{"id":"u","name":"a","disk":[{"url":"http://mirror/a.iso"}]}`, false},
		"0.8, a block device": {`{"id":"u","name":"a","disk":[{"block_device":"/dev/sdb"}]}`, true},
		"0.8, none":           {`{"id":"u","name":"a","disk":[]}`, false},
		"0.9, a CD":           {`{"id":1,"uuid":"u","name":"a","devices":{"disks":[{"device":"cdrom"}]}}`, false},
		"0.9, a disk":         {`{"id":null,"uuid":"u","name":"a","devices":{"disks":[{"device":"cdrom"},{"device":null}]}}`, true},
		"0.9, none":           {`{"id":null,"uuid":"u","name":"a","devices":null}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := peer.Read(peer.Domain, []byte(c.state))
			if err != nil || got.HasDisk != c.want {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
}
