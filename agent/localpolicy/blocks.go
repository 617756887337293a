package localpolicy

import (
	"cmp"
	"maps"
	"slices"

	"github.com/messkit/messkit/agent/policy"
)

// Block is a risk class or a device that does not act until a local operator unlocks or arms it.
type Block struct {
	What   string `json:"what"` // its name
	How    string `json:"how"`  // locked or disarmed
	Reason string `json:"why,omitempty"`
}

// Blocks lists the devices and risk classes under a lockout or disarmed.
func Blocks(l policy.LocalDecisions) (list []Block) {
	for _, name := range slices.Sorted(maps.Keys(l.LockedOut)) {
		list = append(list, Block{name, "locked", l.LockedOut[name]})
	}
	for _, class := range slices.Sorted(maps.Keys(l.Disarmed)) {
		list = append(list, Block{string(class), "disarmed", l.Disarmed[class]})
	}
	for _, name := range slices.Sorted(maps.Keys(l.DisarmedDevices)) {
		list = append(list, Block{name, "disarmed", l.DisarmedDevices[name]})
	}
	return list
}

// BlockReason returns the reason for which no device may act, "" for none.
func BlockReason(l policy.LocalDecisions) string { return cmp.Or(l.Unknown, l.Blocked) }
