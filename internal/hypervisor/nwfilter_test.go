package hypervisor

import (
	"errors"
	"testing"

	"github.com/digitalocean/go-libvirt"
)

func TestOnlyALibvirtWithoutADriverHasNoFilters(t *testing.T) {
	t.Parallel()
	refusal := func(code libvirt.ErrorNumber, message string) error {
		return libvirt.Error{Code: uint32(code), Message: message}
	}
	for name, c := range map[string]struct {
		err   error
		lacks bool
	}{
		"the test driver":                {refusal(libvirt.ErrNoSupport, "this function is not supported by the connection driver: virConnectListAllNWFilters"), true},
		"a session":                      {refusal(libvirt.ErrInternalError, "unexpected nwfilter URI path '/session', try nwfilter:///system"), true},
		"virtnwfilterd is not installed": {refusal(libvirt.ErrSystemError, "Failed to connect socket to '/var/run/libvirt/virtnwfilterd-sock': No such file or directory"), true},
		"virtnwfilterd is down":          {refusal(libvirt.ErrSystemError, "Failed to connect socket to '/var/run/libvirt/virtnwfilterd-sock': Connection refused"), false},
		"virtnwfilterd was restarted":    {refusal(libvirt.ErrInternalError, "client socket is closed"), false},
		"who asks may not":               {refusal(libvirt.ErrAccessDenied, "access denied"), false},
		"the daemons do not understand":  {refusal(libvirt.ErrRPC, "unable to encode message payload"), false},
		"it takes too long":              {refusal(libvirt.ErrOperationTimeout, "timed out"), false},
		"the connection broke meanwhile": {errors.New("EOF"), false},
		"it has listed them":             {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := lacksFilters(c.err); got != c.lacks {
				t.Errorf("%v: %t", c.err, got)
			}
		})
	}
}
