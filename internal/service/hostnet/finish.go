package hostnet

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// finishScript takes from the marks of an owner that the thing is being made.
//
//go:embed finish.sh
var finishScript string

// finishPatterns are where marks of things in a machine's network stand: records, and the files of what manages its network.
const finishPatterns = runDir + "/* " + keptDir + "/*.json /etc/systemd/network/*virtcluster* /etc/systemd/network/*.d/*virtcluster* " +
	"/etc/netplan/*virtcluster* /etc/NetworkManager/*/*virtcluster* /etc/network/interfaces.d/*virtcluster* /etc/network/if-up.d/*virtcluster* " +
	"/etc/systemd/resolved.conf.d/*virtcluster* /etc/dhcp/dhclient-enter-hooks.d/*virtcluster* /etc/resolv.conf"

// FinishMark takes from the thing's mark that it is being made, wherever that stands. Nothing is told to read it.
func (s *Store[S, F]) FinishMark(ctx context.Context) error {
	unlock, err := s.Host.Lock(ctx, Lock)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := s.Host.Run(ctx, host.RepeatableScript("finish a mark", finishScript, append([]string{s.claim.Mark().ID}, strings.Fields(finishPatterns)...)...)); err != nil {
		return fmt.Errorf("on %s: %w", s.Host, err)
	}
	s.claim = s.claim.Finished()
	return nil
}
