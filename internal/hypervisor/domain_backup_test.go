package hypervisor

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatLibvirtIsAskedToCopy(t *testing.T) {
	text, err := Backup{
		Disks: []BackupDisk{{Target: "vda", File: "/srv/a.qcow2", Since: "weekly.2"}, {Target: "vdb", File: "/srv/b.qcow2"}}, Others: []string{"sda"},
	}.renderXML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<domainbackup mode="push">`, `<disk type="file" name="vda" backup="yes" backupmode="incremental" incremental="weekly.2">`, `<target file="/srv/a.qcow2"></target>`,
		`<disk type="file" name="vdb" backup="yes" backupmode="full">`, `<driver type="qcow2"></driver>`, `<disk name="sda" backup="no"></disk>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

func TestParseCheckpointUndoesRender(t *testing.T) {
	want := Checkpoint{Name: "nightly.2", Description: "virtcluster owner=abc <&>", Disks: []string{"vda", "vdc"}}
	text, err := want.renderXML([]string{"vda", "vdb", "vdc"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, `<disk name="vdb" checkpoint="no"></disk>`) {
		t.Errorf("libvirt would keep what is written to vdb:\n%s", text)
	}
	got, err := parseCheckpoint(text)
	if err != nil || got.Name != want.Name || got.Description != want.Description || !slices.Equal(got.Disks, want.Disks) {
		t.Errorf("%v: %+v", err, got)
	}
}

func TestAnotherDescriptionLeavesTheRest(t *testing.T) {
	got, err := replaceDescription("<domaincheckpoint>\n  <name>a</name>\n  <description>was\nso</description>\n  <x/>\n</domaincheckpoint>", "a", "is <so>")
	if err != nil || got != "<domaincheckpoint>\n  <name>a</name>\n  <description>is &lt;so&gt;</description>\n  <x/>\n</domaincheckpoint>" {
		t.Errorf("%v: %s", err, got)
	}
	if _, err := replaceDescription("<domaincheckpoint/>", "a", "is so"); err == nil {
		t.Error("what has no description is given one")
	}
}
