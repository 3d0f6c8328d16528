package hypervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// ErrNoBlockDevice says that the hypervisor's machine has no block device at a path.
var ErrNoBlockDevice = errors.New("no block device")

// ErrNoAccess says that the URI's transport gives no access to the hypervisor's machine, or that it has not the command to look with.
var ErrNoAccess = errors.New("the hypervisor's machine cannot be looked at")

// BlockDevice is a disk of the hypervisor's machine, or a part of one.
type BlockDevice struct {
	// Path is the kernel's, such as "/dev/sdb", whichever link was asked about.
	Path string
	// Users are what the machine does with it, or with parts of it, by itself.
	Users []string
	// Holds is what stands at its beginning, such as "LVM2_member" or "ext4"; "" for nothing that is known.
	Holds string
}

// lsblkDevice is a device as lsblk prints it, with what is made of it.
type lsblkDevice struct {
	Name       string        `json:"name"`
	Type       string        `json:"type"`
	FSType     string        `json:"fstype"`
	MountPoint string        `json:"mountpoint"`
	Children   []lsblkDevice `json:"children"`
}

// listUsers says what a device and its parts are used for.
func (d *lsblkDevice) listUsers() []string {
	var users []string
	switch {
	case d.MountPoint == "[SWAP]":
		users = append(users, d.Name+" is swap")
	case d.MountPoint != "":
		users = append(users, fmt.Sprintf("%s is mounted at %s", d.Name, d.MountPoint))
	}
	for i := range d.Children {
		child := &d.Children[i]
		if child.Type != "part" { // a volume of LVM, a RAID, a path of several, what is encrypted
			users = append(users, fmt.Sprintf("%s is made of it (%s)", child.Name, child.Type))
		}
		users = append(users, child.listUsers()...)
	}
	return users
}

// Status with which lsblk ends where a path is none, or none of a block device (lsblk(8)).
const (
	lsblkFoundNone = 32
	lsblkFoundSome = 64
)

// BlockDevice reads a block device of the hypervisor's machine. The error is ErrNoBlockDevice where there is none at the path, and ErrNoAccess
// where nobody can look.
func (c *Client) BlockDevice(ctx context.Context, path string) (BlockDevice, error) {
	out, err := c.runOnMachine(ctx, host.Cmd{Argv: []string{"lsblk", "--json", "--paths", "--output", "NAME,TYPE,FSTYPE,MOUNTPOINT", "--", path}, Repeatable: true})
	var exit *host.ExitError
	switch {
	case errors.As(err, &exit) && (exit.Code == lsblkFoundNone || exit.Code == lsblkFoundSome || exit.Code == 1):
		return BlockDevice{}, fmt.Errorf("%w at %s: %s", ErrNoBlockDevice, path, strings.TrimSpace(exit.Stderr))
	case errors.As(err, &exit) && exit.Code == 127, errors.Is(err, exec.ErrNotFound): // it has no lsblk
		return BlockDevice{}, ErrNoAccess
	case err != nil:
		return BlockDevice{}, err
	}
	return parseBlockDevice(out)
}

func parseBlockDevice(out []byte) (BlockDevice, error) {
	var printed struct {
		Devices []lsblkDevice `json:"blockdevices"`
	}
	if err := json.Unmarshal(out, &printed); err != nil {
		return BlockDevice{}, fmt.Errorf("cannot understand lsblk: %w", err)
	}
	if len(printed.Devices) != 1 {
		return BlockDevice{}, fmt.Errorf("lsblk prints %d devices for one", len(printed.Devices))
	}
	d := printed.Devices[0]
	return BlockDevice{Path: d.Name, Users: d.listUsers(), Holds: d.FSType}, nil
}

// runOnMachine runs a command that only asks on the hypervisor's machine, there as whoever runs the provider where that is this one.
func (c *Client) runOnMachine(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	switch {
	case c.TestDriver():
		return nil, ErrNoAccess
	case c.remote != nil:
		return c.remote.Run(ctx, cmd)
	case !c.Local():
		return nil, ErrNoAccess
	}
	out, err := exec.CommandContext(ctx, cmd.Argv[0], cmd.Argv[1:]...).Output() //nolint:gosec // a command of this package, and no shell
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return out, &host.ExitError{Host: "localhost", Cmd: cmd.String(), Code: exit.ExitCode(), Stdout: string(out), Stderr: string(exit.Stderr)}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoAccess
	}
	return out, err
}
