package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/mess"
)

func TestFridgeImage(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.cfg.Fit = func(_ context.Context, data []byte, lim picture.Limits) (picture.Picture, error) {
			return picture.Picture{Data: fmt.Appendf(nil, "%s in %d bytes and %d pixels", data, lim.MaxBytes, lim.MaxPx), MIME: "image/jpeg"}, nil
		}
	}, func(h *harness) {
		ref := h.send(requester, `request: {intent: "what's in the fridge?", response_hint: [text, {image: {max_bytes: 90000, max_px: 800}}]}`)
		s := h.wantStatus(ref, mess.Completed)
		if s.Evidence != mess.Photographed {
			h.t.Errorf("evidence %q, want photographed", s.Evidence)
		}
		r := h.wantAnswer(ref, "There is milk, and three eggs.")
		data, a := h.image(ref)
		if want := "\xff\xd8\xff picture of the fridge in 90000 bytes and 800 pixels"; data != want || a.MIME != "image/jpeg" || !strings.HasSuffix(a.Name, "image-fridge-cam.jpg") {
			h.t.Errorf("%q as %+v, want %q", data, a, want)
		}
		i := slices.IndexFunc(r.Content, func(e mess.Entry) bool { return e.Type == "structured" })
		if i < 0 {
			h.t.Fatalf("no facts in %+v", r.Content)
		}
		facts := r.Content[i].Value.(mess.Object)
		if milk, _ := facts.Get("milk"); milk != true {
			h.t.Errorf("facts %+v, want milk", facts)
		}
	})
}

// The image of a real camera arrives in the requested size.
func TestImageIsResized(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.cfg.Fit = agent.DefaultConfig().Fit
		h.addDevice("eye", &fakeCamera{data: noiseImage(t)}, map[string]capabilities.Plan{"photo": {Command: capabilities.TakePhoto, Effect: capabilities.Query}})
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: photo, response_hint: [{image: {max_bytes: 20000, max_px: 300}}]}")
		h.wantStatus(ref, mess.Completed)
		data, a := h.image(ref)
		img, format, err := image.Decode(strings.NewReader(data))
		if err != nil {
			h.t.Fatal(err)
		}
		if size := img.Bounds().Size(); len(data) > 20000 || max(size.X, size.Y) > 300 || a.MIME != "image/"+format || format != "jpeg" {
			h.t.Errorf("%d bytes, %v, %s as %s", len(data), size, format, a.Name)
		}
	})
}

// noiseImage returns an image that does not compress well.
func noiseImage(t *testing.T) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, 640, 480))
	seed := uint32(1)
	for i := range img.Pix {
		seed = seed*1664525 + 1013904223
		img.Pix[i] = byte(seed >> 24)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSwitchIsReadBack(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(requester, "request: {intent: turn on the porch light}")
		if s := h.wantStatus(ref, mess.Completed); s.Evidence != mess.ReadBack {
			h.t.Errorf("evidence %q, want read_back", s.Evidence)
		}
		h.wantAnswer(ref, "The porch light is on.")
		if got, want := h.statuses(ref), "claimed in_progress completed"; got != want {
			h.t.Errorf("%s, want %s", got, want)
		}
		ref = h.send(requester, `request: {intent: "is the porch light on?"}`)
		h.wantStatus(ref, mess.Completed)
		h.wantAnswer(ref, "The porch light is on.")
		if h.lamp.acts() != "on" {
			h.t.Errorf("commands of the lamp are %s, want on; a question switches nothing", h.lamp.acts())
		}
	})
}

func TestVacuumWithQuestionAndConfirmation(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(requester, "request: {id: v, intent: vacuum the kitchen}")
		if s := h.wantStatus(ref, mess.NeedsInput); s.Questions[0].Field != "area" || len(s.Questions[0].Options) != 3 {
			h.t.Errorf("asked %+v", s.Questions)
		}
		h.send(requester, "reply: {re: v, answers: {area: the moon}}")
		if s := h.wantStatus(ref, mess.NeedsInput); !strings.Contains(s.Questions[0].Question, "the moon is no area") {
			h.t.Errorf("asked %+v", s.Questions)
		}
		h.send(requester, "reply: {re: v, answers: {area: both}}")
		s := h.wantStatus(ref, mess.NeedsConfirmation)
		plan := cleanPlan("near sink", "stove")
		if s.Action != plan.Summary || s.Consequences != plan.Consequences || s.ActionHash != plan.Digest() || s.ConfirmBy != "operator" || s.Reversible == nil {
			h.t.Errorf("asked to confirm %+v", s)
		}
		if _, err := h.post(requester, "reply: {re: "+ref+", confirm: true}"); !errors.Is(err, mess.Forbidden) {
			h.t.Errorf("the agent's own confirmation: %v, want it forbidden", err)
		}
		h.send(person, "reply: {re: "+ref+", confirm: true}")
		h.wantStatus(ref, mess.InProgress)
		h.advance(5 * time.Second)
		s = h.wantStatus(ref, mess.InProgress)
		if s.ProgressPct == nil || *s.ProgressPct < 20 || *s.ProgressPct > 25 || s.Message != "cleaning near sink" || s.ETA == "" {
			h.t.Errorf("progress after 5 of 20 seconds: %+v", s)
		}
		h.advance(16 * time.Second)
		h.wantStatus(ref, mess.Completed)
		h.wantAnswer(ref, "near sink and stove")
		if data, a := h.image(ref); data != "map" || a.MIME != "image/png" {
			h.t.Errorf("map: %q as %+v", data, a)
		}
		if n := strings.Count(h.statuses(ref), "in_progress"); n > 22 {
			h.t.Errorf("%d reports of progress in 20 seconds, want one a second at most", n)
		}
		if h.vacuum.acts() != "clean near sink+stove" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.acts())
		}
	})
}

func TestAnswerInOtherFormat(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.policyCfg.Devices = map[string]settings.Limits{"vacuum": {Confirm: settings.ConfirmNever}}
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: vacuum the kitchen}")
		h.send(requester, "answer: {re: "+ref+", value: stove}")
		h.advance(11 * time.Second)
		h.wantStatus(ref, mess.Completed)
	})
}

func TestDeniedConfirmation(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(requester, "request: {intent: vacuum both}")
		h.send(person, "reply: {re: "+ref+", confirm: false}")
		if s := h.wantStatus(ref, mess.Cancelled); s.Reason.Effect != mess.EffectNone {
			h.t.Errorf("%+v, want effect none", s.Reason)
		}
		if h.vacuum.acts() != "" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.acts())
		}
	})
}

func TestConfirmBefore(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(requester, "request: {intent: turn on the porch light, confirm_before: true}")
		if s := h.wantStatus(ref, mess.NeedsConfirmation); s.ConfirmBy != "" {
			h.t.Errorf("confirm_by %q for a lamp", s.ConfirmBy)
		}
		h.send(requester, "reply: {re: "+ref+", confirm: true}")
		h.wantStatus(ref, mess.Completed)
	})
}

func TestDecline(t *testing.T) {
	for _, c := range []struct {
		name, intent string
		set          func(*harness)
		want         []string
	}{
		{"what is not there", "open the safe", nil, []string{"there is no safe here", "fridge"}},
		{"what nobody understands", "flurb", nil, []string{"not understood"}},
		{"what the device cannot do", "juggle", nil, []string{"porch-lamp cannot do that"}},
		{"a device that does not start", "turn on the porch light", func(h *harness) { h.lamp.unplug = true }, []string{"cannot start porch-lamp", "no such line"}},
		{"a locked device", "turn on the porch light", func(h *harness) {
			h.policyCfg.Devices = map[string]settings.Limits{"porch-lamp": {Locked: true}}
		}, []string{"locked"}},
		{"a dry run", "turn on the porch light", func(h *harness) { h.policyCfg.DryRun = true }, []string{"dry_run", "switch the porch light"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := c.set
			if set == nil {
				set = func(*harness) {}
			}
			withHarnessSetup(t, set, func(h *harness) {
				ref := h.send(requester, fmt.Sprintf("request: {intent: %q}", c.intent))
				s := h.wantStatus(ref, mess.Declined)
				for _, w := range c.want {
					if s.Reason == nil || !strings.Contains(s.Reason.Detail, w) {
						t.Errorf("declined with %+v, want %q in it", s.Reason, w)
					}
				}
				if h.statuses(ref) != "declined" || h.lamp.acts() != "" {
					t.Errorf("%s; the lamp did %q; it should neither be claimed nor done", h.statuses(ref), h.lamp.acts())
				}
			})
		})
	}
}

func TestLateDevice(t *testing.T) {
	withHarnessSetup(t, func(h *harness) { h.lamp.unplug = true }, func(h *harness) {
		h.lamp.set(func(l *lamp) { l.unplug = false })
		h.wantStatus(h.send(requester, "request: {intent: turn on the porch light}"), mess.Completed)
	})
}

// Many devices answer first and switch later, so the agent reads them again.
func TestDeviceAnswersBeforeSwitching(t *testing.T) {
	withHarnessSetup(t, func(h *harness) { h.lamp.late = time.Second }, func(h *harness) {
		ref := h.send(requester, "request: {intent: turn on the porch light}")
		h.advance(3 * time.Second)
		if s := h.wantStatus(ref, mess.Completed); s.Evidence != mess.ReadBack || h.lamp.acts() != "on" {
			t.Errorf("%+v after it did %q", s, h.lamp.acts())
		}
	})
}

func TestFailedDevice(t *testing.T) {
	broken := errors.New("lamp: no contact")
	for _, c := range []struct {
		name   string
		set    func(*harness)
		intent string
		code   mess.Code
		effect mess.Effect
		again  bool
		words  string
	}{
		{"reads back otherwise", func(h *harness) { h.lamp.stuck = true }, "turn on the porch light", mess.Failed, mess.EffectUnknown, true, "reads back as off"},
		{"fails and reads back off", func(h *harness) { h.lamp.broken = broken }, "turn on the porch light", mess.Failed, mess.EffectUnknown, true, "no contact; it read back as off just now, and may still act"},
		{"has not received it", func(h *harness) { h.lamp.broken = drivers.MarkNothingDone(errors.New("no contact")) }, "turn on the porch light", mess.Failed, mess.EffectNone, true, "no contact"},
		{"fails and cannot be read", func(h *harness) { h.lamp.broken, h.lamp.blind = broken, true }, "ring the bell", mess.Failed, mess.EffectUnknown, false, "no contact"},
		{"fails and is on", func(h *harness) { h.lamp.broken, h.lamp.on = broken, true }, "turn on the porch light", mess.Completed, "", false, ""},
		{"a question", func(h *harness) { h.lamp.blind = true }, "is the porch light on?", mess.Failed, mess.EffectNone, true, "no answer"},
		{"is busy", func(h *harness) { h.lamp.broken = fmt.Errorf("lamp: %w with something", drivers.ErrBusy) }, "ring the bell", mess.Failed, mess.EffectNone, true, "busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			withHarnessSetup(t, c.set, func(h *harness) {
				ref := h.send(requester, fmt.Sprintf("request: {intent: %q}", c.intent))
				h.advance(3 * time.Second) // the agent reads it again
				s := h.wantStatus(ref, c.code)
				if c.code == mess.Completed {
					return
				}
				if s.Reason.Effect != c.effect || !strings.Contains(s.Reason.Detail, c.words) || *s.Recoverable != c.again {
					t.Errorf("%+v, recoverable %v; want effect %s, recoverable %v, and %q", s.Reason, *s.Recoverable, c.effect, c.again, c.words)
				}
				if (s.Suggestion != "") != (c.effect == mess.EffectUnknown) {
					t.Errorf("suggestion %q", s.Suggestion)
				}
			})
		})
	}
}

func TestHalfDoneTaskIsPartial(t *testing.T) {
	withHarnessSetup(t, func(h *harness) { h.vacuum.stops = true }, func(h *harness) {
		ref := h.send(requester, "request: {intent: vacuum both}")
		h.send(person, "reply: {re: "+ref+", confirm: true}")
		h.advance(11 * time.Second)
		s := h.wantStatus(ref, mess.Partial)
		if fmt.Sprint(s.Completed, s.Remaining) != "[near sink] [stove]" || s.Reason.Effect != mess.EffectPartial {
			h.t.Errorf("done %v, left %v, %+v", s.Completed, s.Remaining, s.Reason)
		}
		h.wantAnswer(ref, "has cleaned near sink; not done: stove")
	})
}

func TestShutdownHaltsEveryDevice(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.wantStatus(h.send(requester, "request: {intent: ring the bell}"), mess.Completed)
		h.stopAgent()
		for name, p := range map[string]*fakeDevice{"lamp": &h.lamp.fakeDevice, "fridge": &h.fridge.fakeDevice, "vacuum": &h.vacuum.fakeDevice} {
			if p.started != 1 || p.halted != 1 {
				h.t.Errorf("%s: started %d, halted %d times, want once each", name, p.started, p.halted)
			}
		}
	})
}
