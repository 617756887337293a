package interpret_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

func workshop() capabilities.Home {
	return capabilities.Home{Devices: []capabilities.Device{
		{
			Name: "prusa", Label: "printer", Class: "printer", Area: "workshop",
			Commands:  []capabilities.Command{capabilities.Print, capabilities.Pause, capabilities.Resume, capabilities.Stop, capabilities.Observe, capabilities.ReadState},
			WorkAreas: []capabilities.WorkArea{{Name: "benchy"}, {Name: "calibration cube"}},
		},
		{
			Name: "vacuum", Label: "vacuum", Class: "vacuum", Area: "hall",
			Commands:  []capabilities.Command{capabilities.Clean, capabilities.Dock, capabilities.CleanSpot, capabilities.Pause, capabilities.Resume, capabilities.Stop, capabilities.Observe},
			WorkAreas: []capabilities.WorkArea{{Name: "hall", Room: "hall"}},
		},
	}}
}

func TestPrintsAndVacuumsAreSteered(t *testing.T) {
	r := interpret.New(catalog.Default(), workshop())
	for intent, want := range map[string]string{
		"print benchy":                           "print-start prusa",
		"print the calibration cube":             "print-start prusa",
		"please print the benchy on the printer": "print-start prusa",
		"start printing benchy":                  "print-start prusa",
		"pause the print":                        "print-pause prusa",
		"pause the printer":                      "print-pause prusa",
		"resume the print":                       "print-resume prusa",
		"continue printing":                      "print-resume prusa",
		"cancel the print":                       "print-cancel prusa",
		"abort the print on the printer":         "print-cancel prusa",
		"how far is the print":                   "print-status prusa",
		"how far is the print on the printer?":   "print-status prusa",
		"how is the print?":                      "print-status prusa",
		"is the print done?":                     "print-status prusa",
		"how long does the print still take?":    "print-status prusa",
		"start the print on the printer":         "? file: benchy, calibration cube",
		"pause the vacuum":                       "pause-vacuum vacuum",
		"stop the vacuum":                        "stop-vacuum vacuum",
		"stop vacuuming":                         "stop-vacuum vacuum",
		"resume vacuuming":                       "resume-vacuum vacuum",
		"spot clean":                             "spot-vacuum vacuum",
		"send the vacuum home":                   "dock-vacuum vacuum",
		"vacuum the hall":                        "vacuum-floor vacuum",
		"how is the vacuum?":                     "vacuum-status vacuum",
		"what is the vacuum doing?":              "vacuum-status vacuum",
		"is the vacuum still cleaning?":          "vacuum-status vacuum",
		"is the vacuum docked?":                  "vacuum-status vacuum",
		"status of the vacuum":                   "vacuum-status vacuum",
	} {
		if o := r.Resolve(ask(intent)); got(o) != want {
			t.Errorf("Resolve(%q) = %q, want %q", intent, got(o), want)
		}
	}
	for _, intent := range []string{"print ../../etc/passwd", "print the dragon", "vacuum benchy", "clean benchy"} {
		if o := r.Resolve(ask(intent)); o.Plan != nil {
			t.Errorf("Resolve(%q) = %q, want no plan", intent, got(o))
		}
	}
	p := r.Resolve(ask("print benchy")).Plan
	if file, _ := p.Args.Get("file"); file != "benchy" || p.Effect != capabilities.Once || p.Risk != capabilities.RiskAppliance || p.Summary != "print benchy on the printer" {
		t.Errorf("%+v", p)
	}
	o := r.Resolve(ask("start the print on the printer"))
	if o := r.Answer(*o.Question, nil, "calibration cube", ask("start the print on the printer")); o.Plan == nil || !strings.Contains(o.Plan.Summary, "print calibration cube") {
		t.Errorf("%+v", o)
	}
}

// The refusal of an unknown file lists the known ones.
func TestUnknownFileListsKnownFiles(t *testing.T) {
	home := workshop()
	for want, spots := range map[string][]capabilities.WorkArea{
		`not understood: "rocket"; the printer has benchy, calibration cube`: home.Devices[0].WorkAreas,
		`not understood: "rocket"; the printer has no known file`:            nil,
	} {
		home.Devices[0].WorkAreas = spots
		out := interpret.New(catalog.Default(), home).Resolve(ask("print the rocket"))
		if out.Refusal == nil || !strings.HasPrefix(out.Refusal.Reason, want) {
			t.Errorf("%+v, want %s", out.Refusal, want)
		}
	}
}

// An order for an unknown spot leads to no offer to clean all floors.
func TestUnknownSpotOffersNoWholeFloor(t *testing.T) {
	home := workshop()
	for i := range home.Devices {
		home.Devices[i].Commands = slices.DeleteFunc(slices.Clone(home.Devices[i].Commands), func(c capabilities.Command) bool { return c == capabilities.CleanSpot })
	}
	r := interpret.New(catalog.Default(), home)
	for _, intent := range []string{"clean the spot", "clean this spot", "vacuum this spot", "spot clean with the vacuum", "tell the vacuum to clean this spot"} {
		if o := r.Resolve(ask(intent)); o.Refusal == nil || !strings.Contains(o.Refusal.Reason, "vacuum the spot where the vacuum stands") {
			t.Errorf("Resolve(%q) = %q", intent, got(o))
		}
	}
}
