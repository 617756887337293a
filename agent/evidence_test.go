package agent_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// For every capability and every result of a driver, the answer never claims more than is
// known.
func TestAnswerClaimsOnlyWhatIsKnown(t *testing.T) {
	turn := capabilities.Plan{Command: capabilities.SetSwitch, Effect: capabilities.Idempotent, Risk: capabilities.RiskComfort, Args: mess.Object{{Key: "on", Value: true}}}
	sweep := capabilities.Plan{Command: capabilities.Clean, Effect: capabilities.Once, Risk: capabilities.RiskComfort, Args: mess.Object{{Key: "areas", Value: []string{"hall", "bath"}}}}
	dock := capabilities.Plan{Command: capabilities.Dock, Effect: capabilities.Once, Risk: capabilities.RiskComfort}
	ask := func(c capabilities.Command) capabilities.Plan {
		return capabilities.Plan{Command: c, Effect: capabilities.Query, Risk: capabilities.RiskObserve}
	}
	shown := func(p capabilities.Plan) capabilities.Plan { p.Want = []string{"image"}; return p }
	done := drivers.Outcome{Done: []string{"hall", "bath"}}
	half := drivers.Outcome{Done: []string{"hall"}, Remaining: []string{"bath"}}
	none := drivers.Outcome{Remaining: []string{"hall", "bath"}}
	lost := func() error { return mess.Errorf(mess.TooLarge, "no room for it") }
	for _, c := range []struct {
		name     string
		plan     capabilities.Plan
		dev      drivers.Device
		cam      drivers.Device // the camera that sees it; nil for none
		attach   func() error   // how the exchange accepts images; nil: it does
		code     mess.Code
		evidence mess.Evidence
		effect   mess.Effect
		wantText string
		hides    string // text that the answer must not contain
	}{
		{name: "switch", plan: turn, dev: &struct {
			fakeDevice
			switcher
		}{}, code: mess.Completed, evidence: mess.Acknowledged},
		{name: "switch, refuses", plan: turn, dev: &struct {
			fakeDevice
			switcher
		}{switcher: switcher{drivers.ErrNotStarted}}, code: mess.Failed, effect: mess.EffectNone},
		{name: "switch, busy", plan: turn, dev: &struct {
			fakeDevice
			switcher
		}{switcher: switcher{drivers.ErrBusy}}, code: mess.Failed, effect: mess.EffectNone},
		{name: "switch, fails", plan: turn, dev: &struct {
			fakeDevice
			switcher
		}{switcher: switcher{errPart}}, code: mess.Failed, evidence: mess.EvidenceUnknown, effect: mess.EffectUnknown},
		{name: "switch and reader", plan: turn, dev: &struct {
			fakeDevice
			switcher
			switchReader
		}{switchReader: switchReader{on: true}}, code: mess.Completed, evidence: mess.ReadBack},
		{name: "switch and reader, otherwise", plan: turn, dev: &struct {
			fakeDevice
			switcher
			switchReader
		}{}, code: mess.Failed, evidence: mess.EvidenceUnknown, effect: mess.EffectUnknown},
		{name: "switch and reader, blind", plan: turn, dev: &struct {
			fakeDevice
			switcher
			switchReader
		}{switchReader: switchReader{err: errPart}}, code: mess.Completed, evidence: mess.Acknowledged, wantText: "could not read it back"},
		{name: "switch and reader, which goes offline", plan: turn, dev: &struct {
			fakeDevice
			switcher
			switchReader
		}{switchReader: switchReader{err: fmt.Errorf("it: %w", drivers.MarkNothingDone(errors.New("it is offline")))}}, code: mess.Completed, evidence: mess.Acknowledged, wantText: "could not read it back: it: it is offline"},
		{name: "switch and reader, which is halted", plan: turn, dev: &struct {
			fakeDevice
			switcher
			switchReader
		}{
			switcher:     switcher{fmt.Errorf("%w: %w", drivers.ErrHalted, drivers.ErrNotStarted)},
			switchReader: switchReader{err: drivers.MarkNothingDone(fmt.Errorf("it: %w: %w", drivers.ErrHalted, drivers.ErrNotStarted))},
		}, code: mess.Failed, evidence: mess.EvidenceUnknown, effect: mess.EffectUnknown, wantText: "the agent did not read it back: it has halted"},
		{name: "switch fails, reads as wanted", plan: turn, dev: &struct {
			fakeDevice
			switcher
			switchReader
		}{switcher: switcher{errPart}, switchReader: switchReader{on: true}}, code: mess.Completed, evidence: mess.ReadBack, wantText: "the driver reported: no contact"},
		{name: "switch fails, reads as before", plan: turn, dev: &struct {
			fakeDevice
			switcher
			switchReader
		}{switcher: switcher{errPart}}, code: mess.Failed, evidence: mess.EvidenceUnknown, effect: mess.EffectUnknown},
		{name: "switch fails before anything was done", plan: turn, dev: &struct {
			fakeDevice
			switcher
			switchReader
		}{switcher: switcher{fmt.Errorf("%w: %w", drivers.ErrNothingDone, errPart)}}, code: mess.Failed, effect: mess.EffectNone},
		{name: "switch is halted midway", plan: turn, dev: &struct {
			fakeDevice
			switcher
			switchReader
		}{switcher: switcher{fmt.Errorf("%w: %w", drivers.ErrHalted, drivers.ErrNotStarted)}}, code: mess.Failed, evidence: mess.EvidenceUnknown, effect: mess.EffectUnknown},
		{name: "switch with an eye", plan: turn, dev: &struct {
			fakeDevice
			switcher
			failingCamera
		}{}, code: mess.Completed, evidence: mess.Photographed},
		{name: "switch with an eye that fails", plan: turn, dev: &struct {
			fakeDevice
			switcher
			switchReader
			failingCamera
		}{switchReader: switchReader{on: true}, failingCamera: failingCamera{err: errPart}}, code: mess.Completed, evidence: mess.ReadBack, wantText: "there is no picture: no contact"},

		{name: "seen, not asked", plan: turn, dev: &struct {
			fakeDevice
			switcher
		}{}, cam: &struct {
			fakeDevice
			failingCamera
		}{}, code: mess.Completed, evidence: mess.Acknowledged},
		{name: "seen", plan: shown(turn), dev: &struct {
			fakeDevice
			switcher
		}{}, cam: &struct {
			fakeDevice
			failingCamera
		}{}, code: mess.Completed, evidence: mess.Photographed, wantText: "The picture is from the cam."},
		{name: "seen, an old picture", plan: shown(turn), dev: &struct {
			fakeDevice
			switcher
			switchReader
		}{switchReader: switchReader{on: true}}, cam: &struct {
			fakeDevice
			failingCamera
		}{failingCamera: failingCamera{age: time.Minute}}, code: mess.Completed, evidence: mess.ReadBack, wantText: "the image is too old: the camera captured it 1m0s before"},
		{name: "seen, a picture without a time", plan: shown(turn), dev: &struct {
			fakeDevice
			switcher
		}{}, cam: &struct {
			fakeDevice
			failingCamera
		}{failingCamera: failingCamera{age: -1}}, code: mess.Completed, evidence: mess.Acknowledged, wantText: "gives no capture time"},
		{name: "seen, the camera fails", plan: shown(turn), dev: &struct {
			fakeDevice
			switcher
		}{}, cam: &struct {
			fakeDevice
			failingCamera
		}{failingCamera: failingCamera{err: errPart}}, code: mess.Completed, evidence: mess.Acknowledged, wantText: "there is no picture: no contact"},
		{name: "seen, the camera hangs", plan: shown(turn), dev: &struct {
			fakeDevice
			switcher
			switchReader
		}{switchReader: switchReader{on: true}}, cam: &struct {
			fakeDevice
			failingCamera
		}{failingCamera: failingCamera{hangs: true}}, code: mess.Completed, evidence: mess.ReadBack, wantText: "there is no picture: "},
		{name: "seen, the camera is none", plan: shown(turn), dev: &struct {
			fakeDevice
			switcher
		}{}, cam: &struct {
			fakeDevice
			sensor
		}{}, code: mess.Completed, evidence: mess.Acknowledged, wantText: "cam takes no pictures"},
		{name: "seen, no image is requested", plan: shown(turn), dev: &struct {
			fakeDevice
			switcher
			switchReader
		}{switchReader: switchReader{on: true}}, cam: &struct {
			fakeDevice
			failingCamera
		}{}, attach: lost, code: mess.Completed, evidence: mess.ReadBack, wantText: "could not deliver the picture"},
		{name: "seen, the act fails", plan: shown(turn), dev: &struct {
			fakeDevice
			switcher
		}{switcher: switcher{errPart}}, cam: &struct {
			fakeDevice
			failingCamera
		}{}, code: mess.Failed, evidence: mess.EvidenceUnknown, effect: mess.EffectUnknown},
		{name: "asked, nothing sees it", plan: shown(turn), dev: &struct {
			fakeDevice
			switcher
		}{}, code: mess.Completed, evidence: mess.Acknowledged, wantText: "no camera sees the it"},

		{name: "clean", plan: sweep, dev: &struct {
			fakeDevice
			cleaner
		}{cleaner: cleaner{out: done}}, code: mess.Completed, evidence: mess.Acknowledged},
		{name: "clean with a map", plan: sweep, dev: &struct {
			fakeDevice
			cleaner
			mapper
		}{cleaner: cleaner{out: done}}, code: mess.Completed, evidence: mess.ReadBack},
		{name: "clean, no map", plan: sweep, dev: &struct {
			fakeDevice
			cleaner
			mapper
		}{cleaner: cleaner{out: done}, mapper: mapper{failingCamera{err: errPart}}}, code: mess.Completed, evidence: mess.Acknowledged, wantText: "there is no map"},
		{name: "clean, an old map", plan: sweep, dev: &struct {
			fakeDevice
			cleaner
			mapper
		}{cleaner: cleaner{out: done}, mapper: mapper{failingCamera{age: time.Hour}}}, code: mess.Completed, evidence: mess.Acknowledged, wantText: "is too old"},
		{name: "clean, seen", plan: shown(sweep), dev: &struct {
			fakeDevice
			cleaner
			mapper
		}{cleaner: cleaner{out: done}}, cam: &struct {
			fakeDevice
			failingCamera
		}{}, code: mess.Completed, evidence: mess.Photographed},
		{name: "clean, no map is requested", plan: sweep, dev: &struct {
			fakeDevice
			cleaner
			mapper
		}{cleaner: cleaner{out: done}}, attach: lost, code: mess.Completed, evidence: mess.Acknowledged},
		{name: "clean, half", plan: sweep, dev: &struct {
			fakeDevice
			cleaner
		}{cleaner: cleaner{out: half}}, code: mess.Partial, evidence: mess.Acknowledged, effect: mess.EffectPartial},
		{name: "clean, half and then fails", plan: sweep, dev: &struct {
			fakeDevice
			cleaner
			mapper
		}{cleaner: cleaner{out: half, err: errPart}}, code: mess.Partial, evidence: mess.ReadBack, effect: mess.EffectPartial},
		{name: "clean, comes back", plan: sweep, dev: &struct {
			fakeDevice
			cleaner
		}{cleaner: cleaner{out: none}}, code: mess.Failed, evidence: mess.Acknowledged, effect: mess.EffectPartial},
		{name: "clean, fails", plan: sweep, dev: &struct {
			fakeDevice
			cleaner
		}{cleaner: cleaner{out: none, err: errPart}}, code: mess.Failed, evidence: mess.EvidenceUnknown, effect: mess.EffectUnknown},
		{name: "clean, does not start", plan: sweep, dev: &struct {
			fakeDevice
			cleaner
		}{cleaner: cleaner{out: none, err: drivers.ErrNotStarted}}, code: mess.Failed, effect: mess.EffectNone},
		{name: "dock", plan: dock, dev: &struct {
			fakeDevice
			cleaner
		}{}, code: mess.Completed, evidence: mess.Acknowledged},
		{name: "dock, seen", plan: shown(dock), dev: &struct {
			fakeDevice
			cleaner
		}{}, cam: &struct {
			fakeDevice
			failingCamera
		}{}, code: mess.Completed, evidence: mess.Photographed},
		{name: "dock, fails", plan: dock, dev: &struct {
			fakeDevice
			cleaner
		}{cleaner: cleaner{dock: errPart}}, code: mess.Failed, evidence: mess.EvidenceUnknown, effect: mess.EffectUnknown},

		{name: "photo", plan: ask(capabilities.TakePhoto), dev: &struct {
			fakeDevice
			failingCamera
		}{}, code: mess.Completed, evidence: mess.Photographed},
		{name: "photo, an old one", plan: ask(capabilities.TakePhoto), dev: &struct {
			fakeDevice
			failingCamera
		}{failingCamera: failingCamera{age: time.Second}}, code: mess.Failed, effect: mess.EffectNone},
		{name: "photo, fails", plan: ask(capabilities.TakePhoto), dev: &struct {
			fakeDevice
			failingCamera
		}{failingCamera: failingCamera{err: errPart}}, code: mess.Failed, effect: mess.EffectNone},
		{name: "photo, not uploaded", plan: ask(capabilities.TakePhoto), dev: &struct {
			fakeDevice
			failingCamera
		}{}, attach: lost, code: mess.Failed, effect: mess.EffectNone},
		{name: "observe", plan: ask(capabilities.Observe), dev: &struct {
			fakeDevice
			observer
		}{}, code: mess.Completed, evidence: mess.ReadBack},
		{name: "observe with an eye", plan: ask(capabilities.Observe), dev: &struct {
			fakeDevice
			observer
			failingCamera
		}{}, code: mess.Completed, evidence: mess.Photographed},
		{name: "observe, an old picture", plan: ask(capabilities.Observe), dev: &struct {
			fakeDevice
			observer
			failingCamera
		}{failingCamera: failingCamera{age: time.Hour}}, code: mess.Completed, evidence: mess.ReadBack, wantText: "is too old"},
		{name: "observe, old", plan: ask(capabilities.Observe), dev: &struct {
			fakeDevice
			observer
		}{observer: observer{age: time.Hour}}, code: mess.Completed, evidence: mess.ReadBack, wantText: "its observations are 1h0m0s old"},
		{name: "read, seen", plan: shown(ask(capabilities.ReadState)), dev: &struct {
			fakeDevice
			switchReader
		}{}, cam: &struct {
			fakeDevice
			failingCamera
		}{}, code: mess.Completed, evidence: mess.Photographed, wantText: "is off. The picture is from the cam."},
		{name: "read, an old picture", plan: shown(ask(capabilities.ReadState)), dev: &struct {
			fakeDevice
			switchReader
		}{}, cam: &struct {
			fakeDevice
			failingCamera
		}{failingCamera: failingCamera{age: time.Second}}, code: mess.Completed, evidence: mess.ReadBack, wantText: "the image is too old"},
		{name: "observe, fails", plan: ask(capabilities.Observe), dev: &struct {
			fakeDevice
			observer
		}{observer: observer{err: errPart}}, code: mess.Failed, effect: mess.EffectNone},
		{name: "read", plan: ask(capabilities.ReadState), dev: &struct {
			fakeDevice
			switchReader
		}{switchReader: switchReader{on: true}}, code: mess.Completed, evidence: mess.ReadBack},
		{name: "read, fails", plan: ask(capabilities.ReadState), dev: &struct {
			fakeDevice
			switchReader
		}{switchReader: switchReader{err: errPart}}, code: mess.Failed, effect: mess.EffectNone},
		{name: "read, and measures nothing now", plan: ask(capabilities.ReadState), dev: &struct {
			fakeDevice
			switchReader
			sensor
		}{switchReader: switchReader{on: true}, sensor: sensor{err: errPart}}, code: mess.Completed, evidence: mess.ReadBack, wantText: "the agent could not read its measurements"},
		{name: "read, and has no meter", plan: ask(capabilities.ReadState), dev: &struct {
			fakeDevice
			switchReader
			sensor
		}{switchReader: switchReader{on: true}, sensor: sensor{err: fmt.Errorf("plug: %w", drivers.ErrNoReading)}}, code: mess.Completed, evidence: mess.ReadBack, hides: "measure"},
		{name: "measure", plan: ask(capabilities.ReadState), dev: &struct {
			fakeDevice
			sensor
		}{}, code: mess.Completed, evidence: mess.ReadBack, wantText: "temperature 4.5 °C."},
		{name: "measure, old", plan: ask(capabilities.ReadState), dev: &struct {
			fakeDevice
			sensor
		}{sensor: sensor{age: 12 * time.Minute}}, code: mess.Completed, evidence: mess.ReadBack, wantText: "temperature 4.5 °C (measured 12m0s ago)."},
		{name: "measure, fails", plan: ask(capabilities.ReadState), dev: &struct {
			fakeDevice
			sensor
		}{sensor: sensor{err: errPart}}, code: mess.Failed, effect: mess.EffectNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			withHarnessSetup(t, func(h *harness) {
				h.addDevice("it", c.dev, map[string]capabilities.Plan{"do it": c.plan})
				if c.cam != nil {
					h.more[0].SeenBy = "cam"
					h.more = append(h.more, device.Device{Name: "cam", Driver: c.cam})
				}
				h.connection.attach = c.attach
			}, func(h *harness) {
				ref := h.wantResult("request: {intent: do it}", c.code, c.evidence, c.effect)
				if r := h.wantAnswer(ref, c.wantText); c.hides != "" && strings.Contains(r.Notes, c.hides) {
					t.Errorf("notes are %q, want no cause that the agent hides", r.Notes)
				}
				if pictured := len(h.thread(ref).Attachments()) > 0; c.evidence == mess.Photographed && !pictured {
					t.Error("photographed, and there is no picture")
				}
			})
		})
	}
}
