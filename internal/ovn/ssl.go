package ovn

import (
	"context"
	"fmt"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// KeyPair names the files by which a machine proves who it is, and the authority by which it knows others. All are "" where there are none.
type KeyPair struct{ Key, Certificate, Authority string }

// SSLError says that a machine proves who it is by files of somebody else.
type SSLError struct {
	Database string
	KeyPair  KeyPair
}

func (e *SSLError) Error() string {
	return fmt.Sprintf("%s has a key of its own already, %s, and there is place for one: remove it by `ovs-vsctl del-ssl` or `ovn-sbctl del-ssl`, or write tls = false", e.Database, e.KeyPair.Key)
}

// SwitchKeyPair returns the files that a machine's Open vSwitch, and with it ovn-controller, proves itself by, and whether they are those of
// a person.
func SwitchKeyPair(ctx context.Context, d *Database) (is KeyPair, foreign bool, err error) {
	row, err := openVSwitch(ctx, d)
	if err != nil {
		return is, false, err
	}
	ssl, err := sslOf(ctx, d, row.SSL)
	return ssl.keyPair(), ssl.isForeign(), err
}

// SetSwitchKeyPair has a machine's Open vSwitch prove itself by files.
func SetSwitchKeyPair(ctx context.Context, d *Database, want KeyPair) error {
	return d.Commit(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) {
		row, err := openVSwitch(ctx, d)
		if err != nil {
			return nil, err
		}
		return putSSL(ctx, d, row, row.UUID, row.SSL, want)
	})
}

// KeyPair returns the files that the southbound database proves itself by.
func (n *Northbound) KeyPair(ctx context.Context) (KeyPair, error) {
	global, err := Row(ctx, n.South, All[SouthGlobal])
	if err != nil || global == nil {
		return KeyPair{}, err
	}
	ssl, err := sslOf(ctx, n.South, global.SSL)
	return ssl.keyPair(), err
}

// SetKeyPair has the southbound database prove itself by files.
func (n *Northbound) SetKeyPair(ctx context.Context, want KeyPair) error {
	return n.South.Commit(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) {
		global, err := Row(ctx, n.South, All[SouthGlobal])
		if err != nil || global == nil {
			return nil, fmt.Errorf("read SB_Global of %s: %w", n.South, err)
		}
		return putSSL(ctx, n.South, global, global.UUID, global.SSL, want)
	})
}

// sslOf returns the row that another one refers to, nil for none.
func sslOf(ctx context.Context, d *Database, uuid *string) (*SSL, error) {
	if uuid == nil {
		return nil, nil
	}
	return Row(ctx, d, func(s *SSL) bool { return s.UUID == *uuid })
}

func (s *SSL) keyPair() KeyPair {
	if s == nil {
		return KeyPair{}
	}
	return KeyPair{s.Key, s.Certificate, s.Authority}
}

func (s *SSL) isForeign() bool { return s != nil && s.ExternalIDs[markKey] == "" }

// putSSL has a row, which is the only one of its table, refer to files. Those of somebody else stay.
func putSSL(ctx context.Context, d *Database, row any, uuid string, refers *string, want KeyPair) ([]ovsdb.Operation, error) {
	is, err := sslOf(ctx, d, refers)
	switch {
	case err != nil || is.keyPair() == want:
		return nil, err
	case is.isForeign() && want == KeyPair{}:
		return nil, nil
	case is.isForeign():
		return nil, &SSLError{Database: d.String(), KeyPair: is.keyPair()}
	case want == KeyPair{}:
		return []ovsdb.Operation{update(d.kind, row, uuid, map[string]any{"ssl": references()})}, nil
	}
	columns := map[string]any{
		"private_key": want.Key, "certificate": want.Certificate, "ca_cert": want.Authority, externalIDs: pairs(map[string]string{markKey: "engine"}),
	}
	if is != nil {
		return []ovsdb.Operation{update(d.kind, is, is.UUID, columns)}, nil
	}
	return []ovsdb.Operation{insert(d.kind, &SSL{}, "ssl", columns), update(d.kind, row, uuid, map[string]any{"ssl": references("ssl")})}, nil
}
