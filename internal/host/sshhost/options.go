// Package sshhost reaches machines over SSH; golang.org/x/crypto/ssh is imported here and nowhere else.
package sshhost

import "time"

// Options are the defaults for every SSH connection, from the provider's `ssh`. The zero value means what
// OpenSSH would do: ~/.ssh/config, the agent, the default keys and ~/.ssh/known_hosts.
type Options struct {
	// User is the login where neither the endpoint nor ~/.ssh/config names one.
	User string
	// PrivateKey is a key in PEM or OpenSSH form; PrivateKeyFile is a path to one.
	PrivateKey, PrivateKeyFile string
	// Agent says whether $SSH_AUTH_SOCK is asked; nil means yes where it is set.
	Agent *bool
	// KnownHostsFile replaces ~/.ssh/known_hosts.
	KnownHostsFile string
	// ProxyJump is [user@]host[:port], comma separated for several hops.
	ProxyJump string
	// ConnectTimeout bounds one attempt to connect, all addresses and the handshake included; zero means 10 s.
	ConnectTimeout time.Duration
}
