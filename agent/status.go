package agent

import (
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/task"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/drivers"
)

// Status is the current state of an agent.
type Status struct {
	Devices  []DeviceStatus // sorted by name
	Stopped  string         // reason of a stop; "" if there is none
	Disarmed error          // why no device may act after a failure of the disk; nil if they may
	Working  int            // number of threads in work
	Waiting  int            // number of reports that wait for the exchange
}

// DeviceStatus is the current state of one device.
type DeviceStatus struct {
	Name        string
	Label       string
	Started     bool   // it has reached its initial state, and is usable
	Task        string // ref of the thread that uses it; "" for none
	Failed      device.Failure
	Doing       string       // cleaning, opening, paused, ...; "" for no lasting activity
	Reads       bool         // it has a reading method
	KnownStates []KnownState // its last known states
}

// KnownState is one state that a device has reported, as text.
type KnownState struct {
	Text      string    `json:"text"` // "on", "temperature 21.5 °C"; "" for an unknown state after an act
	AsOf      time.Time `json:"as_of"`
	Commanded bool      `json:"told,omitempty"` // the commanded state, with no reading since
}

// Status returns the current state of the agent. It calls no driver.
func (a *Agent) Status() Status {
	s := Status{Stopped: a.gate.Stopped(), Disarmed: a.health.failure(), Working: a.tasks.Working()}
	at := map[string]string{}
	for _, t := range a.journal.Tasks() {
		if t.Report != nil {
			s.Waiting++
		}
		if t.Open() {
			maps.Copy(at, task.DevicesOf(t))
		}
	}
	for d := range a.devices.All() {
		doing, paused := a.activity.Of(d.Name)
		if paused {
			doing = "paused"
		}
		s.Devices = append(s.Devices, DeviceStatus{d.Name, d.Label, d.IsRunning(a.gate), at[d.Name], d.LastFailure(a.gate), doing, device.IsReadable(d.Driver), describeStates(a.gate.LastStates(d.Name))})
	}
	return s
}

// describeStates converts the states of a device to texts. It drops a contact that says the same as
// an opening.
func describeStates(list []policy.LastState) []KnownState {
	var states []KnownState
	for _, s := range list {
		one := KnownState{stateText(s.Reading), s.At, s.Commanded}
		if s.Estimated {
			one.Text += " (estimated)"
		}
		if !slices.ContainsFunc(states, func(t KnownState) bool { return t.Text == one.Text }) {
			states = append(states, one)
		}
	}
	return states
}

func stateText(r drivers.Reading) string {
	switch {
	case r.Quantity == "":
		return ""
	case r.Quantity == "on":
		return wording.OnOff(r.Value != 0)
	case r.Quantity == "docked":
		return map[bool]string{true: "docked", false: "not docked"}[r.Value != 0]
	}
	return wording.Reading(r)
}
