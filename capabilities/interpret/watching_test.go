package interpret_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// watchHouse is a home with objects to watch.
func watchHome() *interpret.Interpreter {
	h := exampleHome()
	h.Now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	sensor := func(name, label, class, area string, aliases ...string) capabilities.Device {
		return capabilities.Device{Name: name, Label: label, Class: class, Area: area, Aliases: aliases, Commands: []capabilities.Command{capabilities.ReadState, capabilities.WaitForCondition}}
	}
	door := sensor("front-door", "front door sensor", "contact-sensor", "porch", "front door", "door")
	door.VerificationCamera = "porch-cam"
	h.Devices = append(h.Devices, door,
		sensor("porch-motion", "porch motion", "motion-sensor", "porch", "front door", "door"),
		sensor("climate", "climate", "thermometer", "living room"),
		sensor("garage", "garage door", "garage-door", "garage"),
		capabilities.Device{Name: "washer", Label: "washing machine", Class: "washer", Area: "cellar", Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.ReadState, capabilities.WaitForCondition, capabilities.WaitUntilDone}},
		capabilities.Device{Name: "kettle", Label: "kettle", Class: "kettle", Area: "kitchen", Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.ReadState, capabilities.WaitForCondition}},
	)
	for i, d := range h.Devices {
		if d.Class == "light" {
			h.Devices[i].Commands = append(slices.Clone(d.Commands), capabilities.WaitForCondition)
		}
	}
	return interpret.New(catalog.Default(), h)
}

// describe returns an outcome in a few words.
func describe(o capabilities.Outcome) string {
	switch {
	case o.Plan != nil:
		return o.Plan.Summary
	case o.Question != nil:
		return "? " + o.Question.Text
	}
	return "no: " + o.Refusal.Reason
}

func TestWatchedCondition(t *testing.T) {
	const hour = ", for 1 hour at most"
	for intent, want := range map[string]string{
		"tell me when the washing machine is done":                             "watch the washing machine until it is done" + hour,
		"let me know once the laundry is finished":                             "watch the washing machine until it is done" + hour,
		"watch the washing machine":                                            "watch the washing machine until it is done" + hour,
		"Could you please let me know when the front door opens?":              "watch the front door sensor until it is open" + hour,
		"when the door opens, tell me":                                         "watch the front door sensor until it is open" + hour,
		"notify me as soon as the garage door is closed":                       "watch the garage door until it is closed" + hour,
		"wait until the garage door opens":                                     "watch the garage door until it is open" + hour,
		"tell me when someone comes to the door":                               "watch the porch motion until something moves" + hour,
		"alert me if there is motion on the porch":                             "watch the porch motion until something moves" + hour,
		"watch the door for ten minutes":                                       "watch the front door sensor until something changes, for 10 minutes at most",
		"watch the door for ten minutes and send me a photo when it opens":     "watch the front door sensor until it is open, for 10 minutes at most, and take a photo of it",
		"keep an eye on the door and tell me if anything happens":              "watch the front door sensor until something changes" + hour,
		"send me a picture when the front door opens":                          "watch the front door sensor until it is open" + hour + ", and take a photo of it",
		"let me know when the door opens and send me a photo":                  "watch the front door sensor until it is open" + hour + ", and take a photo of it",
		"when the door opens, take a photo":                                    "watch the front door sensor until it is open" + hour + ", and take a photo of it",
		"let me know in the next ten minutes if anyone comes to the door":      "watch the porch motion until something moves, for 10 minutes at most",
		"watch the garage door until 3 pm":                                     "watch the garage door until something changes, for 3 hours at most",
		"let me know if it gets warmer than 25 degrees in the living room":     "watch the climate until its temperature is above 25" + hour,
		"tell me when the living room is colder than eighteen degrees":         "watch the climate until its temperature is below 18" + hour,
		"tell me when the living room reaches 25 °C":                           "watch the climate until its temperature is 25" + hour,
		"warn me if the temperature in the living room rises above 77 °F":      "watch the climate until its temperature is above 25" + hour,
		"tell me when the humidity in the living room falls below 40%":         "watch the climate until its humidity is below 40" + hour,
		"tell me when the reading lamp goes off":                               "watch the reading lamp until it is off" + hour,
		"turn on the porch light and tell me when the washing machine is done": "turn on the porch light, watch the washing machine until it is done" + hour,

		// A wait with an act after the event gets no plan.
		"wait until the door opens, then turn on the porch light":            "no: ",
		"tell me when the door opens and turn on the porch light":            "no: ",
		"tell me when the door opens and tell me when the garage door opens": "no: ",
		"when the door closes, turn on the porch light":                      "? nothing here waits for \"when the door closes\"",
		"turn on the porch light when the door opens":                        "? nothing here waits for \"when the door opens\"",
		"tell me whenever the door opens":                                    "no: \"whenever the door opens\" is a condition",
		"tell me twice when the door opens":                                  "no: \"twice",
		"tell me when the door does not open":                                "no: ",
		"tell me when the door opens and the light is off":                   "no: ",
		"watch the door for three days":                                      "no: 72 hours is longer than a watch may last here, which is 24 hours",
		"tell me when all lights are off":                                    "no: one request watches one thing",
		"tell me when the living room is warmer than 40 percent":             "no: ",
		"tell me when the kettle is done":                                    "no: kettle cannot do that (watch an appliance until it is done) here",
		"when the garage door opens, send me a photo":                        "no: \"send me a photo\" is not possible: no camera sees the garage door",
		"tell me when the meeting starts":                                    "no: ",
		"when does the door open":                                            "no: ",
		"watch":                                                              "no: ",
		"tell me when":                                                       "no: ",
	} {
		out := watchHome().Resolve(ask(intent))
		if got := describe(out); !strings.HasPrefix(got, want) {
			t.Errorf("Resolve(%q): %s; want %s", intent, got, want)
		}
		if strings.HasPrefix(want, "watch") && (out.Plan == nil || out.Plan.Actuates() || out.Plan.Effect != capabilities.Query || out.Plan.For <= 0) {
			t.Errorf("Resolve(%q): %+v, want a plan that only looks, and for how long", intent, out.Plan)
		}
	}
}

// A question about the present state gets an answer at once, and waits for nothing.
func TestStateQuestionDoesNotWait(t *testing.T) {
	for _, intent := range []string{"let me know if the garage door is open", "tell me whether the front door is closed", "is the garage door open?"} {
		out := watchHome().Resolve(ask(intent))
		if out.Plan == nil || out.Plan.Command != capabilities.ReadState {
			t.Errorf("Resolve(%q): %s", intent, describe(out))
		}
	}
}

func TestWatchesThatAreRequired(t *testing.T) {
	req := mess.Request{Intent: "watch it", Requires: []mess.Capability{{ID: "watch-sensor", Meta: mess.Object{{Key: "devices", Value: "garage"}, {Key: "quantity", Value: "contact"}, {Key: "for", Value: "PT5M"}}}}}
	out := watchHome().Resolve(req)
	if out.Plan == nil || out.Plan.Device != "garage" || out.Plan.For != 5*time.Minute || out.Plan.Command != capabilities.WaitForCondition {
		t.Fatalf("%s, %+v", describe(out), out.Plan)
	}
	req.Intent, req.Requires[0].Meta = "tell me when the garage door opens", nil
	if out := watchHome().Resolve(req); out.Plan == nil || out.Plan.Device != "garage" {
		t.Errorf("%s", describe(out))
	}
	req.Intent = "turn on the porch light"
	if out := watchHome().Resolve(req); out.Plan != nil {
		t.Errorf("%s", describe(out))
	}
}

func TestWatchDurationIsLimited(t *testing.T) {
	h := exampleHome()
	h.DefaultWatch, h.MaxWatch = 2*time.Minute, 10*time.Minute
	h.Devices = append(h.Devices, capabilities.Device{Name: "gate", Class: "gate", Commands: []capabilities.Command{capabilities.WaitForCondition}})
	r := interpret.New(catalog.Default(), h)
	for intent, want := range map[string]string{
		"tell me when the gate opens":     "watch the gate until it is open, for 2 minutes at most",
		"watch the gate for ten minutes":  "watch the gate until something changes, for 10 minutes at most",
		"watch the gate for 11 minutes":   "no: 11 minutes is longer than a watch may last here, which is 10 minutes",
		"watch the gate for zero minutes": "no: ",
	} {
		if got := describe(r.Resolve(ask(intent))); !strings.HasPrefix(got, want) {
			t.Errorf("Resolve(%q): %s; want %s", intent, got, want)
		}
	}
}

// Without a verb a question asks about the state. The same words without the question mark
// are an order.
func TestShortQuestionsQuery(t *testing.T) {
	for intent, want := range map[string]string{
		"Garage door open?":             "read the contact from the garage door",
		"garage door closed?":           "read the contact from the garage door",
		"front door lock locked?":       "read the lock from the front door lock",
		"porch light on?":               "look whether the porch light is on",
		"reading lamp off?":             "look whether the reading lamp is on",
		"is the washing machine done?":  "read the power from the washing machine",
		"washing machine running?":      "read the power from the washing machine",
		"porch light on":                "turn on the porch light",
		"turn the porch light on?":      "? shall I turn on the porch light?",
		"can you open the garage door?": "no: ",
	} {
		out := watchHome().Resolve(ask(intent))
		if got := describe(out); !strings.HasPrefix(got, want) {
			t.Errorf("Resolve(%q): %s; want %s", intent, got, want)
		}
	}
}
