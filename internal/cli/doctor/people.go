package doctor

import (
	"fmt"

	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
)

// checkPeople reports lockouts, disarmed classes and stops by local operators. They look like
// faults to a person who does not know of them.
func checkPeople(data string) (found []output.CheckResult) {
	note := func(what, says string, args ...any) {
		found = append(found, output.CheckResult{What: what, OK: true, Note: true, Says: fmt.Sprintf(says, args...)})
	}
	for _, o := range stop.ReadOrders(config.StopFolder(data)) {
		found = append(found, output.CheckResult{What: "stop", Says: fmt.Sprintf("a stop is in effect: %s; inspect the devices, then run on that machine: messkit clear", o)})
	}
	l := localpolicy.In(data).Decisions()
	if unknown := localpolicy.BlockReason(l); unknown != "" {
		found = append(found, output.CheckResult{What: "people", Says: fmt.Sprintf("nothing acts: %s; look, and then: messkit arm --reset", unknown)})
	}
	for _, class := range output.SortedKeys(l.Disarmed) {
		note("people", "nothing of risk %s acts: %s; look what state things are in, and then: messkit arm %[1]s", class, l.Disarmed[class])
	}
	for _, name := range output.SortedKeys(l.DisarmedDevices) {
		note(name, "does not act: %s; look, and then: messkit arm %s", l.DisarmedDevices[name], name)
	}
	for _, name := range output.SortedKeys(l.LockedOut) {
		note(name, "does not act: a lockout here%s, until: messkit unlock %s", inBrackets(l.LockedOut[name]), name)
	}
	return found
}

// inBrackets returns a reason with a space and brackets; "" without a reason.
func inBrackets(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}
