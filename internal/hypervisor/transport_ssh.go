package hypervisor

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

// parseRemoteMachine returns the machine of a qemu+ssh URI; nil for the other transports. What the URI says goes before the
// provider's defaults, and those before ~/.ssh/config.
func (t target) parseRemoteMachine(options sshhost.Options) (*sshhost.Host, error) {
	if t.transport != "ssh" {
		return nil, nil
	}
	port := 0
	if t.port != "" {
		var err error
		if port, err = strconv.Atoi(t.port); err != nil {
			return nil, fmt.Errorf("invalid port %q: %w", t.port, err)
		}
	}
	if t.keyFile != "" {
		options.PrivateKey, options.PrivateKeyFile = "", t.keyFile
	}
	return sshhost.New(sshhost.Target{User: t.user, Host: t.host, Port: port, KnownHostsOnly: true}, options), nil
}

// dialSSH reaches the daemon's socket on the remote machine through its SSH connection, without a command
// on the other side.
func (t target) dialSSH(ctx context.Context, remote *sshhost.Host) (net.Conn, string, error) {
	if err := remote.Connect(ctx); err != nil {
		return nil, remote.String(), err
	}
	conn, paths, err := t.dialSockets(ctx, remote.DialUnix)
	return conn, fmt.Sprintf("%s on %s", paths, remote), err
}
