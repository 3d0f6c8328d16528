package bind

import "time"

// NextSerial is the serial of a zone's next version: the time in seconds where that is higher than the last
// one by RFC 1982, else the last one plus one. So it also rises above a version that was served for a moment
// and rolled back, and above what a hand edit set.
func NextSerial(last uint32, now time.Time) uint32 {
	if clock := uint32(now.Unix()); int32(clock-last) > 0 { //nolint:gosec // wrapping is the arithmetic of RFC 1982
		return clock
	}
	if last+1 == 0 {
		return 1 // BIND takes zero for "no serial"
	}
	return last + 1
}
