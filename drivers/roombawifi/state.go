package roombawifi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/messkit/messkit/drivers"
)

// report is what a robot has told of itself (state.reported, in parts).
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

// take adds what a message tells; what it does not mention stays.
func (r *report) take(data []byte) error {
	var m struct {
		State struct {
			Reported report `json:"reported"`
		} `json:"state"`
	}
	if json.Unmarshal(data, &m) != nil {
		return errors.New("what it tells cannot be read")
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
	stopped  = "stop" // of a cycle that is none; else it is paused
	stuck    = "stuck"
	toDock   = "hmUsrDock"
)

const none = "none" // the cycle of a robot that is at nothing

// moves reports whether its wheels may turn. What is not known may.
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

// doing is what it does, for a person.
func (m mission) doing() string {
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
		return "driving to its dock to charge before it goes on"
	case m.moves():
		return "cleaning"
	}
	return "standing still"
}

// trouble is an error's words, and what a person does.
type trouble struct{ problem, help string }

const (
	wheels = "lift it, free its wheels, see that both go up and down, set it on a flat floor"
	cliff  = "set it on a free floor, wipe the sensors below its rim"
	brush  = "take the brushes out, free them from what is caught in them, put them back"
	reboot = "hold its CLEAN button for 20 s to start it anew; if that does not help, the maker's service must"
)

// troubles by the robot's number.
var troubles = map[int]trouble{
	1: {"its left wheel hangs in the air", wheels}, 2: {"its brushes are blocked", brush}, 3: {"its right wheel hangs in the air", wheels},
	4: {"its left wheel is blocked", wheels}, 5: {"its right wheel is blocked", wheels}, 6: {"it stands at an edge", cliff},
	7: {"its left wheel has a fault", wheels}, 8: {"its bin has a fault", "take the bin out, clean its contacts and filter, put it back"},
	9: {"its bumper is pressed in", "free the bumper, tap it all along"}, 10: {"its right wheel has a fault", wheels},
	11: {"its bin has a fault", "take the bin out, clean its contacts and filter, put it back"}, 12: {"its edge sensors are dirty", cliff},
	13: {"both wheels hang in the air", wheels}, 14: {"its bin is missing", "put the bin in until it clicks"}, 15: {"it wants to be started anew", reboot},
	16: {"it was bumped while it set out", "set it on a flat floor, leave it alone while it sets out"}, 17: {"it cannot find its way", "carry it to its dock, see that its camera and the way are free"},
	18: {"it cannot get on its dock", "set it on its dock, wipe the contacts of both, see that the way is free"}, 19: {"it cannot get off its dock", "free the way in front of the dock"},
	20: {"it has a fault inside", reboot}, 21: {"it has a fault inside", reboot}, 22: {"it does not come out of where it is", "carry it to a free floor"},
	23: {"its battery does not charge", "wipe the contacts, look at its battery"}, 24: {"its battery is too cold or too hot", "let it rest in a room between 5 and 40 °C"},
	26: {"its vacuum motor is blocked", "clean bin and filter"}, 27: {"its vacuum motor is blocked", "clean bin and filter"},
	33: {"something keeps it in", "carry it to a free floor"}, 34: {"a fold or cable holds it", "free it"}, 38: {"it found no floor of a kind that it knows", "set it where it knows the room"},
	46: {"its battery is low", "set it on its dock"}, 48: {"its way was blocked", "clear the way"}, 52: {"its pad came off", "put the pad back on"},
	65: {"its hardware has a fault", reboot}, 66: {"its memory is low", reboot}, 68: {"its camera has a fault", "wipe its camera, then start it anew"},
	73: {"its pad is of another kind than the task", "put the right pad on"}, 101: {"its battery is not connected", "take the battery out and put it back"},
	216: {"the dock's bag is full", "put a new bag into the dock"}, 224: {"it does not know where it is", "set it on its dock, let it begin there"},
}

// unready are the reasons for which it does not set out, by its number.
var unready = map[int]trouble{
	1: {"it stands at an edge", cliff}, 2: {"both wheels hang in the air", wheels}, 3: {"its left wheel hangs in the air", wheels}, 4: {"its right wheel hangs in the air", wheels},
	7: {"its bin is missing", "put the bin in until it clicks"}, 15: {"its battery is low", "let it charge in its dock"}, 16: {"its bin is full", "empty the bin"},
	31: {"its tank is empty", "fill the tank"}, 39: {"it saves its map", "wait some minutes"}, 48: {"its way was blocked", "clear the way"},
	68: {"it updates its map", "wait some minutes"},
}

// trouble is what a person has to do, nil if nothing.
func (m mission) trouble() *drivers.HelpError {
	if m.Error == 0 && m.Phase != stuck {
		return nil
	}
	t, known := troubles[m.Error]
	if !known {
		t = trouble{fmt.Sprintf("it reports the error %d", m.Error), "go and look at it; the maker's app says more"}
		if m.Error == 0 {
			t = trouble{"it is stuck", "free it, set it on a free floor"}
		}
	}
	return &drivers.HelpError{Problem: t.problem, Help: t.help + ", then ask again"}
}

// unready is why it would not set out, nil if it would.
func (m mission) unready() *drivers.HelpError {
	if h := m.trouble(); h != nil || m.NotReady == 0 {
		return h
	}
	t, known := unready[m.NotReady]
	if !known {
		t = trouble{fmt.Sprintf("it is not ready (its number %d)", m.NotReady), "go and look at it; the maker's app says more"}
	}
	return &drivers.HelpError{Problem: t.problem, Help: t.help + ", then ask again"}
}

// says is the state in words, and as facts.
func (r report) says() (string, []drivers.Fact) {
	text := "The vacuum is " + r.Mission.doing()
	facts := []drivers.Fact{{Name: "state", Value: r.Mission.doing()}, {Name: "phase", Value: r.Mission.Phase}}
	if r.Battery != nil {
		text += fmt.Sprintf("; its battery has %.0f %%", *r.Battery)
		facts = append(facts, drivers.Fact{Name: "battery", Value: math.Round(*r.Battery), Unit: "%"})
	}
	text += "."
	if r.Bin != nil && r.Bin.Full {
		text += " Its bin is full."
		facts = append(facts, drivers.Fact{Name: "bin", Value: "full"})
	}
	if h := cmp.Or(r.Mission.trouble(), r.Mission.unready()); h != nil {
		text += " It says: " + h.Error() + "."
		facts = append(facts, drivers.Fact{Name: "problem", Value: h.Problem}, drivers.Fact{Name: "help", Value: h.Help})
	}
	return text, facts
}

// version is the map that rooms are on, and its version.
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
		return "", "", fmt.Errorf("it has no map %q; it has: %q", id, ids)
	case len(ids) == 1:
		return ids[0], r.Maps[0][ids[0]], nil
	case len(ids) == 0:
		return "", "", errors.New("it has no map; have it learn the home with the maker's app first")
	}
	return "", "", fmt.Errorf("it has %d maps; write one of %q as map", len(ids), ids)
}
