package sshhost

import (
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// Whether a machine is there its kernel says, which acknowledges what arrives: a connection over which nothing was acknowledged for
// unacknowledgedWait is dead. Its programs may take much longer, as those of an emulated machine on a busy computer do, which had answered
// pings and no request for forty seconds: they are asked for a sign of life every keepAliveEvery, and have keepAliveWait for it. The machine
// keeps a lock a little longer than that after its holder's last word.
const (
	unacknowledgedWait = 35 * time.Second
	keepAliveEvery     = 10 * time.Second
	keepAliveWait      = 100 * time.Second
)

// conn is one live connection.
type conn struct {
	client *ssh.Client
	key    ssh.PublicKey
	user   string
	// open sessions, and how many the server allows; both belong to the Host's mutex.
	open, limit int
	dead        chan struct{}
	close       func()
}

func newConn(client *ssh.Client, key ssh.PublicKey, user string) *conn {
	c := &conn{client: client, key: key, user: user, limit: maxSessions, dead: make(chan struct{})}
	c.close = sync.OnceFunc(func() { _ = client.Close() }) // fails where it is dead already
	go func() {
		_ = client.Wait() // however it ended, it is dead
		close(c.dead)
	}()
	go c.keepAlive()
	return c
}

func (c *conn) isAlive() bool {
	select {
	case <-c.dead:
		return false
	default:
		return true
	}
}

// keepAlive asks for a sign of life; a network that went away without a word is noticed by it alone.
func (c *conn) keepAlive() {
	tick := time.NewTicker(keepAliveEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.dead:
			return
		case <-tick.C:
		}
		giveUp := time.AfterFunc(keepAliveWait, c.close)
		_, _, err := c.client.SendRequest("keepalive@openssh.com", true, nil)
		giveUp.Stop()
		if err != nil {
			c.close()
			return
		}
	}
}
