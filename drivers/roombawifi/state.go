package roombawifi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/messkit/messkit/drivers"
)

// report contains the reported state of a robot (state.reported, which arrives in parts).
type report struct {
	Mission *mission            `json:"cleanMissionStatus"`
	Battery *float64            `json:"batPct"`
	Bin     *bin                `json:"bin"`
	Maps    []map[string]string `json:"pmaps"` // versions by id
}

type mission struct {
	Cycle    string  `json:"cycle"`
	Phase    string  `json:"phase"`
	Error    int     `json:"error"`
	NotReady int     `json:"notReady"`
	Area     float64 `json:"sqft"`
}

type bin struct {
	Present bool `json:"present"`
	Full    bool `json:"full"`
}

// take adds the fields of a message; the other fields do not change.
func (r *report) take(data []byte) error {
	var m struct {
		State struct {
			Reported report `json:"reported"`
		} `json:"state"`
	}
	if json.Unmarshal(data, &m) != nil {
		return errors.New("invalid state message")
	}
	n := m.State.Reported
	if n.Mission != nil && n.Mission.Phase != "" {
		r.Mission = n.Mission
	}
	if n.Battery != nil && *n.Battery >= 0 && *n.Battery <= 100 {
		r.Battery = n.Battery
	}
	if n.Bin != nil {
		r.Bin = n.Bin
	}
	if n.Maps != nil {
		r.Maps = n.Maps
	}
	return nil
}

// Phases of a mission.
const (
	charging = "charge"
	running  = "run"
	stopped  = "stop" // stopped if the cycle is none; otherwise paused
	stuck    = "stuck"
	toDock   = "hmUsrDock"
)

const none = "none" // cycle of a robot without a task

// moves reports whether the wheels may turn. It returns true for an unknown phase.
func (m mission) moves() bool {
	switch m.Phase {
	case charging, stopped, stuck, "recharge", "evac", "pause", "cancelled", "chargingerror":
		return false
	}
	return true
}

func (m mission) docked() bool {
	return m.Phase == charging || m.Phase == "recharge" || m.Phase == "evac"
}

func (m mission) paused() bool {
	return m.Phase == "pause" || m.Phase == stopped && m.Cycle != none && m.Cycle != ""
}

// activityText describes the activity of the robot for people.
func (m mission) activityText() string {
	switch {
	case m.Error != 0 || m.Phase == stuck:
		return "in trouble"
	case m.paused():
		return "paused"
	case m.Phase == "evac":
		return "emptying its bin in its dock"
	case m.docked():
		return "in its dock"
	case m.Phase == toDock || m.Phase == "hmPostMsn" || m.Phase == "dock" || m.Phase == "dockend":
		return "driving to its dock"
	case m.Phase == "hmMidMsn":
		return "driving to its dock to charge before it continues"
	case m.moves():
		return "cleaning"
	}
	return "standing still"
}

// helpText is the text of an error, and the action of a person.
type helpText struct{ problem, help string }

const (
	wheels = "lift it, free its wheels, check that both move up and down, set it on a flat floor"
	cliff  = "set it on a free floor, wipe the sensors below its rim"
	brush  = "remove the brushes, clean them, insert them again"
	reboot = "hold its CLEAN button for 20 s to restart it; if that does not help, contact the service of the manufacturer"
)

// helpTexts maps the error numbers of the robot.
var helpTexts = map[int]helpText{
	1: {"its left wheel hangs in the air", wheels}, 2: {"its brushes do not turn", brush}, 3: {"its right wheel hangs in the air", wheels},
	4: {"its left wheel does not turn", wheels}, 5: {"its right wheel does not turn", wheels}, 6: {"it stands at an edge", cliff},
	7: {"its left wheel has a fault", wheels}, 8: {"its bin has a fault", "remove the bin, clean its contacts and filter, insert it again"},
	9: {"its bumper is stuck", "free the bumper, tap it along its length"}, 10: {"its right wheel has a fault", wheels},
	11: {"its bin has a fault", "remove the bin, clean its contacts and filter, insert it again"}, 12: {"its edge sensors are dirty", cliff},
	13: {"both wheels hang in the air", wheels}, 14: {"its bin is missing", "insert the bin until it clicks"}, 15: {"it needs a restart", reboot},
	16: {"an object hit it at its start", "set it on a flat floor, and do not touch it while it starts"}, 17: {"it cannot find its way", "carry it to its dock, check that its camera and the way are free"},
	18: {"it cannot reach the contacts of its dock", "set it on its dock, wipe the contacts of both, check that the way is free"}, 19: {"it cannot leave its dock", "free the way in front of the dock"},
	20: {"it has an internal fault", reboot}, 21: {"it has an internal fault", reboot}, 22: {"it cannot leave its place", "carry it to a free floor"},
	23: {"its battery does not charge", "wipe the contacts, check its battery"}, 24: {"its battery is too cold or too hot", "let it rest in a room between 5 and 40 °C"},
	26: {"its vacuum motor does not turn", "clean bin and filter"}, 27: {"its vacuum motor does not turn", "clean bin and filter"},
	33: {"it cannot leave a closed area", "carry it to a free floor"}, 34: {"a fold or cable holds it", "free it"}, 38: {"it detects no known type of floor", "set it in a room that it knows"},
	46: {"its battery is low", "set it on its dock"}, 48: {"an obstacle blocks its way", "clear the way"}, 52: {"its pad came off", "put the pad back on"},
	65: {"its hardware has a fault", reboot}, 66: {"its memory is low", reboot}, 68: {"its camera has a fault", "wipe its camera, then restart it"},
	73: {"its pad does not fit the task", "attach the right pad"}, 101: {"its battery is not connected", "remove the battery and insert it again"},
	216: {"the dock's bag is full", "insert a new bag into the dock"}, 224: {"its position on the map is unknown", "set it on its dock, and start it there"},
}

// unready maps the numbers of the reasons why the robot does not set out.
var unready = map[int]helpText{
	1: {"it stands at an edge", cliff}, 2: {"both wheels hang in the air", wheels}, 3: {"its left wheel hangs in the air", wheels}, 4: {"its right wheel hangs in the air", wheels},
	7: {"its bin is missing", "insert the bin until it clicks"}, 15: {"its battery is low", "let it charge in its dock"}, 16: {"its bin is full", "empty the bin"},
	31: {"its tank is empty", "fill the tank"}, 39: {"it saves its map", "wait some minutes"}, 48: {"an obstacle blocks its way", "clear the way"},
	68: {"it updates its map", "wait some minutes"},
}

// neededHelp returns the problem that a person must solve, or nil.
func (m mission) neededHelp() *drivers.HelpError {
	if m.Error == 0 && m.Phase != stuck {
		return nil
	}
	t, known := helpTexts[m.Error]
	if !known {
		t = helpText{fmt.Sprintf("the robot reports the error %d", m.Error), "inspect it; the app of the manufacturer shows more"}
		if m.Error == 0 {
			t = helpText{"the robot is stuck", "free it, set it on a free floor"}
		}
	}
	return &drivers.HelpError{Problem: t.problem, Help: t.help + ", then ask again"}
}

// unready returns the reason why the robot would not set out, or nil.
func (m mission) unready() *drivers.HelpError {
	if h := m.neededHelp(); h != nil || m.NotReady == 0 {
		return h
	}
	t, known := unready[m.NotReady]
	if !known {
		t = helpText{fmt.Sprintf("the robot is not ready (reason %d)", m.NotReady), "inspect it; the app of the manufacturer shows more"}
	}
	return &drivers.HelpError{Problem: t.problem, Help: t.help + ", then ask again"}
}

// describe returns the state as text and as facts.
func (r report) describe() (string, []drivers.Fact) {
	text := "The vacuum is " + r.Mission.activityText()
	facts := []drivers.Fact{{Name: "state", Value: r.Mission.activityText()}, {Name: "phase", Value: r.Mission.Phase}}
	if r.Battery != nil {
		text += fmt.Sprintf("; its battery level is %.0f %%", *r.Battery)
		facts = append(facts, drivers.Fact{Name: "battery", Value: math.Round(*r.Battery), Unit: "%"})
	}
	text += "."
	if r.Bin != nil && r.Bin.Full {
		text += " Its bin is full."
		facts = append(facts, drivers.Fact{Name: "bin", Value: "full"})
	}
	if h := cmp.Or(r.Mission.neededHelp(), r.Mission.unready()); h != nil {
		text += " It reports: " + h.Error() + "."
		facts = append(facts, h.Facts()...)
	}
	return text, facts
}

// version returns the id of the map of the rooms, and its version.
func (r report) version(id string) (string, string, error) {
	var ids []string
	for _, m := range r.Maps {
		for one, version := range m {
			if one == id {
				return one, version, nil
			}
			ids = append(ids, one)
		}
	}
	switch {
	case id != "":
		return "", "", fmt.Errorf("the robot has no map %q; its maps: %q", id, ids)
	case len(ids) == 1:
		return ids[0], r.Maps[0][ids[0]], nil
	case len(ids) == 0:
		return "", "", errors.New("the robot has no map; let it learn the home with the app of the manufacturer first")
	}
	return "", "", fmt.Errorf("the robot has %d maps; write one of %q as map", len(ids), ids)
}
