package interpret_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// measured is a home with devices that take amounts.
func measured() *interpret.Interpreter {
	return interpret.New(catalog.Default(), capabilities.Home{Devices: []capabilities.Device{
		{Name: "blind", Label: "bedroom blind", Aliases: []string{"blinds"}, Class: "blind", Area: "bedroom", Commands: []capabilities.Command{
			capabilities.Open, capabilities.Close, capabilities.OpenTo, capabilities.Stop, capabilities.ReadState,
		}},
		{Name: "garage", Label: "garage door", Class: "garage-door", Commands: []capabilities.Command{capabilities.Open, capabilities.Close}},
		{
			Name: "lamp", Label: "desk lamp", Class: "light", Area: "office",
			Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.Dim, capabilities.SetColor, capabilities.SetColorTemperature},
			Limits:   map[string]capabilities.Range{"kelvin": {Min: 2200, Max: 5500}},
		},
		{Name: "strip", Label: "shelf strip", Class: "light", Area: "hall", Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.Dim, capabilities.SetColor}},
		{
			Name: "pan", Label: "camera pan", Aliases: []string{"camera"}, Class: "servo", Commands: []capabilities.Command{capabilities.TurnTo},
			Limits:      map[string]capabilities.Range{"angle": {Min: 20, Max: 160}},
			NamedAngles: []capabilities.NamedAngle{{Name: "left", Angle: 30}, {Name: "the door", Angle: 120}},
		},
		{Name: "cam", Label: "porch camera", Class: "camera", Area: "porch", Commands: []capabilities.Command{capabilities.TakePhoto}},
	}})
}

// The plan has the amounts of the text.
func TestAmountsReachThePlan(t *testing.T) {
	r := measured()
	for text, want := range map[string]string{
		"open the blinds half way":                                   "blind open-to opening 50",
		"open the blinds to 30 %":                                    "blind open-to opening 30",
		"open the bedroom blind to thirty percent":                   "blind open-to opening 30",
		"set the blinds to 75%":                                      "blind open-to opening 75",
		"blinds to 40 percent":                                       "blind open-to opening 40",
		"close the blinds half way":                                  "blind open-to opening 50",
		"open the blinds a quarter":                                  "blind open-to opening 25",
		"set the bedroom blind half open":                            "blind open-to opening 50",
		"please raise the blinds to 80 percent open":                 "blind open-to opening 80",
		"open the blinds":                                            "blind open",
		"stop the blinds":                                            "blind stop",
		"how far open are the blinds":                                "blind read-state quantity opening",
		"set the desk lamp to 2700 K":                                "lamp warm kelvin 2700",
		"set the desk lamp to 2700k":                                 "lamp warm kelvin 2700",
		"make the desk lamp warm white":                              "lamp warm kelvin 2700",
		"turn the office light to 4000 kelvin":                       "lamp warm kelvin 4000",
		"make the desk lamp cooler":                                  "lamp warm change 500",
		"make the desk lamp warmer":                                  "lamp warm change -500",
		"set the colour temperature of the desk lamp to 3000 kelvin": "lamp warm kelvin 3000",
		"make the shelf strip warm white":                            "strip tint colour #ffd9a0",
		"turn the camera to the left":                                "pan turn-to angle 30",
		"turn the camera left":                                       "pan turn-to angle 30",
		"turn the camera to 45 degrees":                              "pan turn-to angle 45",
		"turn the camera to 45°":                                     "pan turn-to angle 45",
		"point the camera at the door":                               "pan turn-to angle 120",
		"move the camera pan to ninety degrees":                      "pan turn-to angle 90",
	} {
		out := r.Resolve(ask(text))
		if out.Plan == nil {
			t.Errorf("%q: no plan: question %+v, refusal %+v", text, out.Question, out.Refusal)
			continue
		}
		got := []string{out.Plan.Device, string(out.Plan.Command)}
		for _, a := range out.Plan.Args {
			got = append(got, a.Key, fmt.Sprint(a.Value))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %s, want %s", text, strings.Join(got, " "), want)
		}
	}
}

// The refusal of an amount says the range of the device, and nothing acts.
func TestAmountsOutOfRangeAreRefused(t *testing.T) {
	r := measured()
	for text, want := range map[string]string{
		"turn the camera to 170 degrees":    "20 to 160 degrees, and knows left, the door",
		"turn the camera to the right":      `no position called "right"; it turns from 20 to 160 degrees, and knows left, the door`,
		"set the desk lamp to 1800 kelvin":  "it goes from 2200 to 5500",
		"make the desk lamp daylight":       "it goes from 2200 to 5500",
		"open the blinds to 130 percent":    "may be 0 to 100 percent",
		"close the blinds to 130 percent":   "ask for 0 to 100",
		"set the desk lamp to 90000 kelvin": "",
		"open the garage door half way":     "",
	} {
		out := r.Resolve(ask(text))
		if out.Plan != nil {
			t.Errorf("%q would %s", text, out.Plan.Summary)
			continue
		}
		if want != "" && (out.Refusal == nil || !strings.Contains(out.Refusal.Reason, want)) {
			t.Errorf("%q: %+v %+v, want a refusal with %q", text, out.Refusal, out.Question, want)
		}
	}
}

// An amount with two meanings leads to a question. The plan has nothing that the text does
// not say.
func TestAmbiguousAmountsLeadToQuestion(t *testing.T) {
	r := measured()
	req := ask("close the blinds to 30 percent")
	out := r.Resolve(req)
	if out.Question == nil || out.Question.Field != "opening" {
		t.Fatalf("%+v", out)
	}
	out = r.Answer(*out.Question, nil, "70 percent open", req)
	if out.Plan == nil {
		t.Fatalf("%+v %+v", out.Question, out.Refusal)
	}
	if opening, _ := out.Plan.Args.Get("opening"); opening != 70.0 {
		t.Errorf("%+v", out.Plan)
	}
	for _, text := range []string{
		"don't open the blinds half way", "are the blinds half open", "the blinds were at 30 percent", "open the blinds by 30 percent",
		"turn the camera 10 degrees", "should I turn the camera to the left?", "is the camera to the left", "was the desk lamp warm white",
		"turn the camera to 45 degrees or 90 degrees", "turn the camera to left right", "open the blinds to 30 percent 40 percent",
		"is the desk lamp at 2700 kelvin",
	} {
		if out := r.Resolve(ask(text)); out.Plan != nil && out.Plan.Actuates() {
			t.Errorf("%q would %s", text, out.Plan.Summary)
		}
	}
}
