package machine

import (
	"context"
	"fmt"
)

// checkVariableStore fails before anything is changed where the UEFI variable store is to be made anew and cannot be.
func (u *update) checkVariableStore(ctx context.Context) error {
	if !u.machine.HasOutdatedStore() {
		return nil
	}
	if err := u.c.CanResetStore(ctx); err != nil {
		return fmt.Errorf("firmware: %q needs other UEFI variables than the node has: %w: leave firmware as it is, or have the node replaced (-replace)", u.machine.Firmware, err)
	}
	return nil
}

// replaceVariableStore makes the stopped machine's UEFI variable store anew where it was made for another firmware: with it,
// Secure Boot would have no keys. The mark says so until it is done, so that an interrupted apply is taken up again.
func (u *update) replaceVariableStore(ctx context.Context) error {
	if !u.machine.HasOutdatedStore() {
		return nil
	}
	u.newStore = true
	if err := u.c.ResetDomainStore(ctx, u.d.UUID); err != nil {
		return err
	}
	u.machine.Mark.Store = nil
	return writeMark(ctx, u.c, u.machine, false)
}

// restoreVariableStore gives the prior firmware a store of its own again. What the guest had written into it is lost.
func (u *update) restoreVariableStore(ctx context.Context) error {
	if !u.newStore || u.existing.Firmware == "bios" || u.existing.Mark.Store != nil {
		return nil
	}
	return u.c.ResetDomainStore(ctx, u.d.UUID)
}
