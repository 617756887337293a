package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/mess"
)

// ExecutorState returns the state of an executor in words.
func ExecutorState(e httpclient.Executor) string {
	words := []string{"here"}
	if !e.Live {
		words[0] = "silent since " + string(e.LastSeen)
	}
	if e.Disarmed != "" {
		words = append(words, "disarmed: "+Printable(e.Disarmed))
	}
	if b := e.Battery; b != nil {
		words = append(words, fmt.Sprintf("battery %.0f %%%s", b.Percent, map[bool]string{true: " charging"}[b.Charging]))
	}
	switch {
	case e.DrainOrder != nil:
		words = append(words, Printable(strings.TrimSuffix("DRAINED by "+e.DrainOrder.By+": "+e.DrainOrder.Reason, ": ")))
	case e.DrainReport != nil:
		words = append(words, "DRAINED: "+Printable(e.DrainReport.Reason))
	}
	if len(e.Stopping) > 0 {
		words = append(words, "has not confirmed a stop")
	}
	if e.Stopped != nil {
		words = append(words, fmt.Sprintf("STOPPED: %s; %s", Printable(e.Stopped.Reason), SafeDevices(*e.Stopped)))
	}
	return strings.Join(words, ", ")
}

// CountSafe returns the number of devices known to be safe.
func CountSafe(s mess.StopState) int {
	return len(slices.DeleteFunc(slices.Clone(s.Devices), func(d mess.SafeDevice) bool { return d.State != "safe" }))
}

// SafeDevices returns the number of safe devices of a stop as text.
func SafeDevices(s mess.StopState) string {
	return fmt.Sprintf("%d of %s safe", CountSafe(s), Count(len(s.Devices), "device"))
}
