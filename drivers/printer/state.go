package printer

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

// phase is the present activity of a printer.
type phase string

const (
	idle      phase = "idle"
	busy      phase = "busy" // moves or heats without a print: prepares, cancels, homes
	printing  phase = "printing"
	paused    phase = "paused"
	finished  phase = "finished"
	cancelled phase = "cancelled"
	failed    phase = "failed"
	attention phase = "attention" // waits for a person
	offline   phase = "offline"   // the server has no connection to the printer
)

// state is the state that a printer reports.
type state struct {
	Phase         phase
	File          string // file of the present or the last print
	Label         string // name that people know, if it differs from the name on the printer
	ID            string // id of the print, if the server has one
	Percent       float64
	Elapsed, Left time.Duration
	Layer, Layers int
	Says          string   // message of the printer about a problem
	Nozzle, Bed   *float64 // °C
	Heated        float64  // highest target temperature in °C
}

// active reports whether there is an unfinished print.
func (s state) active() bool {
	switch s.Phase {
	case printing, paused, attention, busy:
		return true
	}
	return false
}

func (s state) heats() bool { return s.Heated > 0 }

// began returns the start of the print, from its reported duration.
func (s state) began(now time.Time) time.Time { return now.Add(-s.Elapsed) }

// called returns the name of the file for people.
func (s state) called() string { return cmp.Or(s.Label, s.File) }

// activityText describes the print for people.
func (s state) activityText() string {
	text := "printing " + cmp.Or(s.called(), "a file")
	if s.Layers > 0 {
		text += fmt.Sprintf(", layer %d of %d", s.Layer, s.Layers)
	}
	switch s.Phase {
	case paused:
		return "paused: " + text
	case attention:
		return "waiting for a person: " + text
	}
	return text
}

// neededHelp returns the problem that a person must solve, or nil.
func (s state) neededHelp() *drivers.HelpError {
	message := strings.TrimSpace(s.Says)
	message = message[:min(len(message), 200)]
	switch s.Phase {
	case attention:
		return &drivers.HelpError{Problem: cmp.Or(prefixed("the printer says: ", message), "the printer waits for a person"), Help: "follow the instructions on the screen of the printer"}
	case paused:
		if message != "" {
			return &drivers.HelpError{Problem: "the printer has paused: " + message, Help: help(message)}
		}
	case failed:
		return &drivers.HelpError{Problem: cmp.Or(prefixed("the printer reports: ", message), "the printer reports an error without a description"), Help: help(message) + ", remove the rest from the bed, then ask again"}
	case offline:
		return &drivers.HelpError{Problem: cmp.Or(prefixed("the server has no printer: ", message), "the server has no printer"), Help: "turn the printer on, check its cable, and connect it on the page of the server"}
	}
	return nil
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// helps maps a word in the message of the printer to an action of a person. The first match
// counts.
var helps = []struct{ word, help string }{
	{"filament", "load new filament, check that it runs freely"},
	{"runout", "load new filament, check that it runs freely"},
	{"jam", "clear the nozzle"},
	{"thermal", "let it cool down, inspect the heater and its thermistor, and do not leave the printer alone"},
	{"heat", "let it cool down, inspect the heater and its thermistor, and do not leave the printer alone"},
	{"temperature", "let it cool down, inspect the heater and its thermistor, and do not leave the printer alone"},
	{"adc", "inspect the wires of its thermistors"},
	{"endstop", "free its axes, and home it"},
	{"home", "free its axes, and home it"},
	{"crash", "remove the obstacle from its axes"},
	{"probe", "clean the nozzle and the bed's sensor"},
	{"mcu", "check the cable to its board, then restart the firmware"},
	{"shutdown", "read the reason in its log, then restart the firmware"},
	{"timer", "restart the firmware; its computer is overloaded"},
	{"file", "check that the file is on the printer and complete"},
	{"door", "close its door"},
	{"bed", "clear the bed: only its sheet may be on it"},
	{"m600", "change the filament"},
}

func help(message string) string {
	message = strings.ToLower(message)
	for _, h := range helps {
		if strings.Contains(message, h.word) {
			return h.help
		}
	}
	return "check the screen or the page of the printer"
}

// describe returns the state as text and as facts.
func (s state) describe() (string, []drivers.Fact) {
	facts := []drivers.Fact{{Name: "state", Value: string(s.Phase)}}
	var text string
	switch s.Phase {
	case printing, paused, attention:
		text = fmt.Sprintf("The printer is %s; %.0f %% is done", s.activityText(), s.Percent)
		facts = append(facts, drivers.Fact{Name: "file", Value: s.File}, drivers.Fact{Name: "progress", Value: math.Round(s.Percent), Unit: "%"})
		if s.Layers > 0 {
			facts = append(facts, drivers.Fact{Name: "layer", Value: float64(s.Layer)}, drivers.Fact{Name: "layers", Value: float64(s.Layers)})
		}
		if s.Left > 0 {
			text += ", with " + inMinutes(s.Left) + " more"
			facts = append(facts, drivers.Fact{Name: "left", Value: s.Left.Round(time.Second).Seconds(), Unit: "s"})
		}
	case finished:
		text = "The printer has finished" + prefixed(" ", s.called())
	case cancelled:
		text = "The last print was canceled" + prefixed(": ", s.called())
	case busy:
		text = "The printer is busy and prints nothing yet"
	case failed:
		text = "The printer is in trouble"
	case offline:
		text = "The printer is not connected"
	default:
		text = "The printer prints nothing"
	}
	if s.Bed != nil {
		facts = append(facts, drivers.Fact{Name: "bed temperature", Value: *s.Bed, Unit: "°C"})
	}
	if s.Nozzle != nil {
		facts = append(facts, drivers.Fact{Name: "nozzle temperature", Value: *s.Nozzle, Unit: "°C"})
		text += fmt.Sprintf("; its nozzle has %.0f °C", *s.Nozzle)
	}
	text += "."
	if h := s.neededHelp(); h != nil {
		text += " " + strings.ToUpper(h.Problem[:1]) + h.Problem[1:] + "; " + h.Help + "."
		facts = append(facts, h.Facts()...)
	}
	return text, facts
}

// inMinutes returns a duration for people.
func inMinutes(d time.Duration) string {
	if d = d.Round(time.Minute); d < time.Minute {
		return "less than a minute"
	}
	return strings.TrimSuffix(d.String(), "0s")
}
