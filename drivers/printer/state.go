package printer

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

// phase is what a printer is at.
type phase string

const (
	idle      phase = "idle"
	busy      phase = "busy" // it moves or heats, and prints nothing: it gets ready, cancels, homes
	printing  phase = "printing"
	paused    phase = "paused"
	finished  phase = "finished"
	cancelled phase = "cancelled"
	failed    phase = "failed"
	attention phase = "attention" // it waits for a person
	offline   phase = "offline"   // its server has no printer
)

// state is what a printer says of itself.
type state struct {
	Phase         phase
	File          string // of the print, or of the last one
	Label         string // what people call that file, where the printer's own name of it is another
	ID            string // of the print, where the server has one
	Percent       float64
	Elapsed, Left time.Duration
	Layer, Layers int
	Says          string   // the printer's own words on what is wrong
	Nozzle, Bed   *float64 // °C
	Heated        float64  // °C, the highest that anything is to have
}

// active reports whether there is a print that has not ended.
func (s state) active() bool {
	switch s.Phase {
	case printing, paused, attention, busy:
		return true
	}
	return false
}

func (s state) heats() bool { return s.Heated > 0 }

// began is when the print has begun, by what it says of its time.
func (s state) began(now time.Time) time.Time { return now.Add(-s.Elapsed) }

// called is the file in words.
func (s state) called() string { return cmp.Or(s.Label, s.File) }

// doing is a print in words.
func (s state) doing() string {
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

// trouble is what a person has to do, nil for nothing.
func (s state) trouble() *drivers.HelpError {
	said := strings.TrimSpace(s.Says)
	said = said[:min(len(said), 200)]
	switch s.Phase {
	case attention:
		return &drivers.HelpError{Problem: cmp.Or(prefixed("the printer says: ", said), "the printer waits for a person"), Help: "look at the printer's own screen, do what it says there"}
	case paused:
		if said != "" {
			return &drivers.HelpError{Problem: "the printer has paused: " + said, Help: help(said)}
		}
	case failed:
		return &drivers.HelpError{Problem: cmp.Or(prefixed("the printer reports: ", said), "the printer reports an error that it does not name"), Help: help(said) + ", take the rest off the bed, then ask again"}
	case offline:
		return &drivers.HelpError{Problem: cmp.Or(prefixed("its server has no printer: ", said), "its server has no printer"), Help: "switch the printer on, look at its cable, and connect it in the server's page"}
	}
	return nil
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// helps is what a person does, by a word in what the printer says. The first that
// fits counts.
var helps = []struct{ word, help string }{
	{"filament", "load new filament, see that it runs freely"},
	{"runout", "load new filament, see that it runs freely"},
	{"jam", "clear the nozzle"},
	{"thermal", "let it cool down, look at the heater and its thermistor, and do not leave it alone"},
	{"heat", "let it cool down, look at the heater and its thermistor, and do not leave it alone"},
	{"temperature", "let it cool down, look at the heater and its thermistor, and do not leave it alone"},
	{"adc", "look at the wires of its thermistors"},
	{"endstop", "free its axes, and home it"},
	{"home", "free its axes, and home it"},
	{"crash", "free its axes from what is in their way"},
	{"probe", "clean the nozzle and the bed's sensor"},
	{"mcu", "look at the cable to its board, then restart the firmware"},
	{"shutdown", "find out why in its log, then restart the firmware"},
	{"timer", "restart the firmware; its computer has too much to do"},
	{"file", "look whether the file still lies on the printer and is whole"},
	{"door", "close its door"},
	{"bed", "look at the bed: nothing but its sheet may lie there"},
	{"m600", "change the filament"},
}

func help(said string) string {
	said = strings.ToLower(said)
	for _, h := range helps {
		if strings.Contains(said, h.word) {
			return h.help
		}
	}
	return "look at the printer's own screen or page"
}

// says is the state in words, and as facts.
func (s state) says() (string, []drivers.Fact) {
	facts := []drivers.Fact{{Name: "state", Value: string(s.Phase)}}
	var text string
	switch s.Phase {
	case printing, paused, attention:
		text = fmt.Sprintf("The printer is %s; %.0f %% is done", s.doing(), s.Percent)
		facts = append(facts, drivers.Fact{Name: "file", Value: s.File}, drivers.Fact{Name: "progress", Value: math.Round(s.Percent), Unit: "%"})
		if s.Layers > 0 {
			facts = append(facts, drivers.Fact{Name: "layer", Value: float64(s.Layer)}, drivers.Fact{Name: "layers", Value: float64(s.Layers)})
		}
		if s.Left > 0 {
			text += ", and it takes " + inMinutes(s.Left) + " more"
			facts = append(facts, drivers.Fact{Name: "left", Value: s.Left.Round(time.Second).Seconds(), Unit: "s"})
		}
	case finished:
		text = "The printer has finished" + prefixed(" ", s.called())
	case cancelled:
		text = "The last print was cancelled" + prefixed(": ", s.called())
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
	if h := s.trouble(); h != nil {
		text += " " + strings.ToUpper(h.Problem[:1]) + h.Problem[1:] + "; " + h.Help + "."
		facts = append(facts, drivers.Fact{Name: "problem", Value: h.Problem}, drivers.Fact{Name: "help", Value: h.Help})
	}
	return text, facts
}

// inMinutes is a time as one would say it.
func inMinutes(d time.Duration) string {
	if d = d.Round(time.Minute); d < time.Minute {
		return "less than a minute"
	}
	return strings.TrimSuffix(d.String(), "0s")
}
