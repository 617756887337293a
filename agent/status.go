package agent

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/drivers"
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
	Doing   string // cleaning, opening, paused, ...; "" for nothing that lasts
	Reads   bool   // it tells its state when it is asked
	Seen    []Seen // what it said last, as far as that is known
}

// Seen is what a device said of itself, in words.
type Seen struct {
	Text string    `json:"text"` // "on", "temperature 21.5 °C"; "" where it has acted, and nobody knows how it is
	AsOf time.Time `json:"as_of"`
	Told bool      `json:"told,omitempty"` // it was told so, and was not read since
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
		s.Devices = append(s.Devices, DeviceStatus{name, d.Label, d.running(a.gate), at[name], d.lastly(a.gate), "", canBeRead(d.Driver), inBrief(a.gate.Seen(name))})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, d := range s.Devices {
		if s.Devices[i].Doing = doings[a.acting[d.Name]]; a.paused[d.Name] {
			s.Devices[i].Doing = "paused"
		}
	}
	for _, t := range a.tasks {
		if t.epoch != 0 {
			s.Working++
		}
	}
	return s
}

// inBrief tells what was seen of a device. What a contact and an opening say alike is
// said once.
func inBrief(list []gate.Seen) []Seen {
	var told []Seen
	for _, s := range list {
		one := Seen{seenAs(s.Reading), s.At, s.Told}
		if s.Estimated {
			one.Text += " (estimated)"
		}
		if !slices.ContainsFunc(told, func(t Seen) bool { return t.Text == one.Text }) {
			told = append(told, one)
		}
	}
	return told
}

func seenAs(r drivers.Reading) string {
	switch {
	case r.Quantity == "":
		return ""
	case r.Quantity == "on":
		return onOff(r.Value != 0)
	case r.Quantity == "docked":
		return map[bool]string{true: "docked", false: "not docked"}[r.Value != 0]
	}
	return inWords(r)
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
