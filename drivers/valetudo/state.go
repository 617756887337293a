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
	"github.com/messkit/messkit/drivers/httpclient"
)

// Paths below the address of the robot (Valetudo, docs/openapi).
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

// resumable is the flag of a robot that charges and then continues by itself.
const resumable = "resumable"

// state is the state that a robot reports.
type state struct {
	Status  string
	Flag    string
	Battery *float64 // in percent
	Charges string   // none, charging, discharging, charged
	Problem robotError
}

// robotError is a problem of the robot (ValetudoRobotError).
type robotError struct {
	Message   string `json:"message"`
	Subsystem string `json:"subsystem"`
}

// attribute is one entry in the state list of the robot.
type attribute struct {
	Class string     `json:"__class"`
	Value any        `json:"value"`
	Flag  string     `json:"flag"`
	Level *float64   `json:"level"`
	Error robotError `json:"error"`
	Meta  struct {
		Description string `json:"error_description"` // in older versions
	} `json:"metaData"`
}

func parseState(data []byte) (state, error) {
	var list []attribute
	if err := json.Unmarshal(data, &list); err != nil {
		return state{}, errors.New("the answer is not a state of Valetudo; check url and the version of Valetudo")
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
		return state{}, fmt.Errorf("the robot reports the unknown state %.40q", s.Status)
	}
	return s, nil
}

// state requests the state of the robot.
func (v *Vacuum) state(ctx context.Context) (state, error) {
	a, err := v.web.Do(ctx, httpclient.Call{Path: attributesPath})
	if err != nil {
		return state{}, err
	}
	return parseState(a.Body)
}

// moves reports whether the robot moves.
func (s state) moves() bool {
	return s.Status == isCleaning || s.Status == isReturning || s.Status == isManual || s.Status == isMoving
}

// activityText describes the activity of the robot for people.
func (s state) activityText() string {
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

// describe returns the state as text and as facts.
func (s state) describe() (string, []drivers.Fact) {
	return drivers.VacuumState{Activity: s.activityText(), Name: s.Status, Battery: s.Battery, Charging: s.Charges == "charging", Help: s.neededHelp()}.Describe()
}

// helps maps the subsystem of a problem to an action of a person.
var helps = map[string]string{
	"power":       "set it on its dock by hand, and inspect the contacts",
	"sensors":     "wipe its sensors and its bumper, and set it on a free floor",
	"motors":      "remove hair and objects from its wheels and brushes",
	"navigation":  "free it, set it on a free floor near its dock",
	"attachments": "check its dustbin, tank and mop, and empty or fill them",
	"dock":        "check its dock: water, dust bag, and the way to it",
}

// neededHelp returns the problem that a person must solve, or nil.
func (s state) neededHelp() *drivers.HelpError {
	if s.Status != isError {
		return nil
	}
	problem := "the robot reports an error without a description"
	if m := strings.TrimSpace(s.Problem.Message); m != "" {
		problem = fmt.Sprintf("the robot reports: %.120s", m)
	}
	return &drivers.HelpError{Problem: problem, Help: cmp.Or(helps[s.Problem.Subsystem], "inspect it; the page of the robot shows more") + ", then ask again"}
}
