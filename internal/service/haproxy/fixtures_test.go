package haproxy

import _ "embed"

// What distributions install: Debian 12's file as it is, Fedora's shortened.
var (
	//go:embed testdata/debian12.cfg
	debianConfig string
	//go:embed testdata/fedora.cfg
	fedoraConfig string
)
