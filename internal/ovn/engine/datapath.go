package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
)

// datapathUnit has the user-space datapath not offer again what WithholdZeroSNAT takes from it, each time that Open vSwitch has begun and offers it.
var datapathUnit = host.File{Path: fmt.Sprintf(unitFile, switchUnits[1]), Content: []byte(`# Written by virtcluster_ovn: the user-space datapath can abort where OVN has it translate to the address 0.0.0.0.
[Service]
ExecStartPost=-/bin/sh -c 'datapath=$$(ovs-vsctl --timeout=10 --if-exists get Open_vSwitch . datapaths:netdev); [ -z "$$datapath" ] || exec ovs-vsctl --timeout=10 set Datapath "$$datapath" capabilities:ct_zero_snat=false'
`)}

// datapathLimit is how long ovn-controller, which was started, may take to have the datapath, and Open vSwitch to say what it can.
const datapathLimit = 20 * time.Second

// putDatapath keeps the user-space datapath of a chassis, whose ovn-controller was started, from what it can abort by.
func putDatapath(ctx context.Context, h host.Host) error {
	if err := writeFiles(ctx, h, datapathUnit); err != nil {
		return err
	}
	if err := readUnits(ctx, h); err != nil {
		return err
	}
	_, err := onSwitch(h, func(d *ovn.Database) (none struct{}, err error) { return none, withholdZeroSNAT(ctx, d) })
	if err != nil {
		return fmt.Errorf("keep the datapath of %s from what it can abort by: %w", h, err)
	}
	return nil
}

func withholdZeroSNAT(ctx context.Context, d *ovn.Database) error {
	for end := time.Now().Add(datapathLimit); ; time.Sleep(50 * time.Millisecond) {
		there, err := ovn.WithholdZeroSNAT(ctx, d)
		switch {
		case err != nil || there:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(end):
			return fmt.Errorf("no user-space datapath within %s: look there at /var/log/ovn/ovn-controller.log and /var/log/openvswitch/ovs-vswitchd.log", datapathLimit)
		}
	}
}

// restoreDatapath has a machine's datapath be as it was before putDatapath.
func restoreDatapath(ctx context.Context, h host.Host) error {
	if err := removeDatapathUnit(ctx, h); err != nil {
		return err
	}
	_, err := onSwitch(h, func(d *ovn.Database) (none struct{}, err error) { return none, ovn.RestoreZeroSNAT(ctx, d) })
	return err
}

func removeDatapathUnit(ctx context.Context, h host.Host) error {
	if err := removeUnitFiles(ctx, h, datapathUnit.Path); err != nil {
		return err
	}
	return readUnits(ctx, h)
}

// readUnits has systemd read its units' files again.
func readUnits(ctx context.Context, h host.Host) error {
	_, err := h.Run(ctx, host.Cmd{Argv: []string{"systemctl", "daemon-reload"}, Repeatable: true})
	return err
}
