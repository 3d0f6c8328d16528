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
	all, err := c.BlockDevices(ctx, path)
	switch {
	case err != nil:
		return BlockDevice{}, err
	case len(all) == 0:
		return BlockDevice{}, fmt.Errorf("%w at %s", ErrNoBlockDevice, path)
	}
	return all[0], nil
}

// BlockDevices reads the block devices of the hypervisor's machine that are at some paths; of the others there are none. The error is ErrNoAccess where
// nobody can look.
func (c *Client) BlockDevices(ctx context.Context, paths ...string) ([]BlockDevice, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	argv := append([]string{"lsblk", "--json", "--paths", "--output", "NAME,TYPE,FSTYPE,MOUNTPOINT", "--"}, paths...)
	out, err := c.runOnMachine(ctx, host.Cmd{Argv: argv, Repeatable: true})
	var exit *host.ExitError
	switch {
	case errors.As(err, &exit) && (exit.Code == lsblkFoundNone || exit.Code == 1 && len(paths) == 1):
		return nil, nil
	case errors.As(err, &exit) && exit.Code == lsblkFoundSome:
		out = []byte(exit.Stdout)
	case errors.As(err, &exit) && exit.Code == 127, errors.Is(err, exec.ErrNotFound): // it has no lsblk
		return nil, ErrNoAccess
	case err != nil:
		return nil, err
	}
	return parseBlockDevices(out)
}

func parseBlockDevices(out []byte) ([]BlockDevice, error) {
	var printed struct {
		Devices []lsblkDevice `json:"blockdevices"`
	}
	if err := json.Unmarshal(out, &printed); err != nil {
		return nil, fmt.Errorf("cannot understand lsblk: %w", err)
	}
	var all []BlockDevice
	for _, d := range printed.Devices {
		all = append(all, BlockDevice{Path: d.Name, Users: d.listUsers(), Holds: d.FSType})
	}
	return all, nil
}

// FindDevices lists what is in a directory of devices of the hypervisor's machine by a pattern of its name, as find(1) takes it; nothing where the
// directory is not there. The error is ErrNoAccess where nobody can look.
func (c *Client) FindDevices(ctx context.Context, dir, pattern string) ([]string, error) {
	out, err := c.runOnMachine(ctx, host.Cmd{Argv: []string{"find", dir, "-mindepth", "1", "-maxdepth", "1", "-name", pattern}, Repeatable: true})
	if exit, failed := errors.AsType[*host.ExitError](err); failed && exit.Code == 1 {
		return nil, nil
	}
	return strings.Fields(string(out)), err
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
