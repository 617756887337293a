package agent

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/messkit/messkit/agent/journal"
)

// Status is how an agent stands at this moment.
type Status struct {
	Devices  []DeviceStatus // by name
	Stopped  string         // why everything is stopped; "" if it is not
	Disarmed error          // why nothing acts because it could not be written down; nil if it can
	Working  int            // threads that are worked on
	Waiting  int            // reports that wait for the exchange
}

// DeviceStatus is how one device stands.
type DeviceStatus struct {
	Name    string
	Label   string
	Started bool   // it has been taken to its initial state, and can be used
	Task    string // the thread for which it acts or looks; "" for none
	Failed  Failure
}

// Status tells how the agent stands. It touches no device.
func (a *Agent) Status() Status {
	s := Status{Stopped: a.gate.Stopped(), Disarmed: a.trouble()}
	at := map[string]string{}
	for _, t := range a.journal.Tasks() {
		if t.Report != nil {
			s.Waiting++
		}
		if t.Open() {
			maps.Copy(at, busy(t))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.devices)) {
		d := a.devices[name]
		s.Devices = append(s.Devices, DeviceStatus{name, d.Label, d.running(a.gate), at[name], d.lastly()})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.tasks {
		if t.epoch != 0 {
			s.Working++
		}
	}
	return s
}

// busy are the devices of a task that has begun and not ended, each with its
// thread.
func busy(t journal.Task) map[string]string {
	var m memo
	if json.Unmarshal(t.Intent.Plan, &m) != nil {
		return nil // of another version
	}
	at := map[string]string{}
	for _, step := range m.Plan.Each() {
		at[step.Device] = t.Ref
	}
	return at
}
