package valetudo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/web"
)

// Where things are below the robot's address (Valetudo, docs/openapi).
const (
	attributesPath = "/api/v2/robot/state/attributes"
	mapPath        = "/api/v2/robot/state/map"
	controlPath    = "/api/v2/robot/capabilities/BasicControlCapability"
	segmentsPath   = "/api/v2/robot/capabilities/MapSegmentationCapability"
	zonesPath      = "/api/v2/robot/capabilities/ZoneCleaningCapability"
	statisticsPath = "/api/v2/robot/capabilities/CurrentStatisticsCapability"
)

// Values of a StatusStateAttribute.
const (
	isError     = "error"
	isDocked    = "docked"
	isIdle      = "idle"
	isReturning = "returning"
	isCleaning  = "cleaning"
	isPaused    = "paused"
	isManual    = "manual_control"
	isMoving    = "moving"
)

// resumable is the flag of a robot that charges, and then goes on by itself.
const resumable = "resumable"

// state is what a robot says of itself.
type state struct {
	Status  string
	Flag    string
	Battery *float64 // in percent
	Charges string   // none, charging, discharging, charged
	Problem robotError
}

// robotError is what is wrong with it (ValetudoRobotError).
type robotError struct {
	Message   string `json:"message"`
	Subsystem string `json:"subsystem"`
}

// attribute is one of the list that the robot gives.
type attribute struct {
	Class string     `json:"__class"`
	Value any        `json:"value"`
	Flag  string     `json:"flag"`
	Level *float64   `json:"level"`
	Error robotError `json:"error"`
	Meta  struct {
		Description string `json:"error_description"` // of older versions
	} `json:"metaData"`
}

func parseState(data []byte) (state, error) {
	var list []attribute
	if err := json.Unmarshal(data, &list); err != nil {
		return state{}, errors.New("what it says of its state cannot be read; is it Valetudo, and new enough?")
	}
	var s state
	for _, a := range list {
		switch a.Class {
		case "StatusStateAttribute":
			s.Status, _ = a.Value.(string)
			s.Flag, s.Problem = a.Flag, a.Error
			s.Problem.Message = cmp.Or(s.Problem.Message, a.Meta.Description)
		case "BatteryStateAttribute":
			if a.Level != nil && *a.Level >= 0 && *a.Level <= 100 {
				s.Battery, s.Charges = a.Level, a.Flag
			}
		}
	}
	if !slices.Contains([]string{isError, isDocked, isIdle, isReturning, isCleaning, isPaused, isManual, isMoving}, s.Status) {
		return state{}, fmt.Errorf("it says that it is %.40q, which is not known here", s.Status)
	}
	return s, nil
}

// state asks the robot.
func (v *Vacuum) state(ctx context.Context) (state, error) {
	a, err := v.web.Do(ctx, web.Call{Path: attributesPath})
	if err != nil {
		return state{}, err
	}
	return parseState(a.Body)
}

// moves reports whether the robot is under way.
func (s state) moves() bool {
	return s.Status == isCleaning || s.Status == isReturning || s.Status == isManual || s.Status == isMoving
}

// doing is what it does, for a person.
func (s state) doing() string {
	switch s.Status {
	case isDocked:
		return "in its dock"
	case isIdle:
		return "standing still"
	case isReturning:
		return "driving to its dock"
	case isManual:
		return "driven by hand"
	case isError:
		return "in trouble"
	}
	return s.Status
}

// says is the state in words, and as facts.
func (s state) says() (string, []drivers.Fact) {
	text := "The vacuum is " + s.doing()
	facts := []drivers.Fact{{Name: "state", Value: s.Status}}
	if s.Battery != nil {
		text += fmt.Sprintf("; its battery has %v %%", *s.Battery)
		facts = append(facts, drivers.Fact{Name: "battery", Value: *s.Battery, Unit: "%"})
	}
	if s.Charges == "charging" {
		text += " and is charging"
	}
	text += "."
	if help := s.trouble(); help != nil {
		text += " " + help.Error() + "."
		facts = append(facts, drivers.Fact{Name: "problem", Value: help.Problem}, drivers.Fact{Name: "help", Value: help.Help})
	}
	return text, facts
}

// helps is what a person does about a robot's trouble, by its subsystem.
var helps = map[string]string{
	"power":       "set it on its dock by hand, and look at the contacts",
	"sensors":     "wipe its sensors and its bumper, and set it on a free floor",
	"motors":      "free its wheels and brushes from what is caught in them",
	"navigation":  "free it, set it on a free floor near its dock",
	"attachments": "look whether its dustbin, tank and mop are in place and empty or full as they should be",
	"dock":        "look at its dock: water, dust bag, and the way to it",
}

// trouble is what a person has to do, nil if nothing.
func (s state) trouble() *drivers.HelpError {
	if s.Status != isError {
		return nil
	}
	problem := "the robot reports an error that it does not name"
	if m := strings.TrimSpace(s.Problem.Message); m != "" {
		problem = fmt.Sprintf("the robot reports: %.120s", m)
	}
	return &drivers.HelpError{Problem: problem, Help: cmp.Or(helps[s.Problem.Subsystem], "go and look at it; its own page shows more") + ", then ask again"}
}
