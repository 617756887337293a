package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// Parts of devices to combine: each has one capability and a chosen result.
type (
	switcher     struct{ err error }
	switchReader struct {
		on  bool
		err error
	}
	failingCamera struct {
		age   time.Duration // age of its image; negative: the image has no time
		err   error
		hangs bool
	}
	mapper  struct{ failingCamera }
	cleaner struct {
		out  drivers.Outcome
		err  error
		dock error
	}
	sensor struct {
		age time.Duration
		err error
	}
	observer struct {
		err error
		age time.Duration
	}
)

func (s switcher) Switch(context.Context, bool) error { return s.err }

func (r switchReader) On(context.Context) (bool, error) { return r.on, r.err }

func (s failingCamera) Photo(ctx context.Context) (drivers.Photo, error) {
	if s.hangs {
		<-ctx.Done()
		return drivers.Photo{}, ctx.Err()
	}
	p := drivers.Photo{Data: []byte("a picture"), MIME: "image/png", CapturedAt: time.Now().Add(-s.age)}
	if s.age < 0 {
		p.CapturedAt = time.Time{}
	}
	return p, s.err
}

func (m mapper) Map(ctx context.Context) (drivers.Photo, error) { return m.failingCamera.Photo(ctx) }

// Photo marks that a mapper is no camera.
func (m mapper) Photo() {}

func (c cleaner) Clean(context.Context, []string, func(drivers.Progress)) (drivers.Outcome, error) {
	return c.out, c.err
}

func (c cleaner) Dock(context.Context) error { return c.dock }

func (s sensor) Read(context.Context) ([]drivers.Reading, error) {
	return []drivers.Reading{{Quantity: "temperature", Value: 4.5, Unit: "°C", At: time.Now().Add(-s.age)}}, s.err
}

func (o observer) Observe(context.Context) (drivers.Observation, error) {
	return drivers.Observation{Text: "There is milk.", At: time.Now().Add(-o.age)}, o.err
}

var errPart = errors.New("no contact")

// Images and measurements state in UTC when they were captured, their age, and an unset clock.
func TestAnswersStateAge(t *testing.T) {
	berlin := time.FixedZone("", 3600)
	withHarnessSetup(t, func(h *harness) {
		h.cfg.Synced = func() bool { return false }
		look := func(c capabilities.Command) capabilities.Plan {
			return capabilities.Plan{Command: c, Effect: capabilities.Query}
		}
		h.addDevice("cam", &struct {
			fakeDevice
			cameraWithZone
		}{cameraWithZone: cameraWithZone{in: berlin}}, map[string]capabilities.Plan{"photo": look(capabilities.TakePhoto)})
		h.addDevice("probe", &struct {
			fakeDevice
			sensor
		}{sensor: sensor{age: 90 * time.Second}}, map[string]capabilities.Plan{"measure": look(capabilities.ReadState)})
	}, func(h *harness) {
		h.advance(time.Hour)
		image := h.wantAnswer(h.send(requester, "request: {intent: photo}")).Content[1].Value.(mess.Object)
		for key, want := range map[string]any{"captured_at": "2000-01-01T01:00:00Z", "age": "PT0S", "clock": "unsynchronised"} {
			if got, _ := image.Get(key); got != want {
				t.Errorf("%s of the picture: %v, want %v", key, got, want)
			}
		}
		facts := h.wantAnswer(h.send(requester, "request: {intent: measure}")).Content[1].Value.(mess.Object)
		temperature, _ := facts.Get("temperature")
		for key, want := range map[string]any{"at": "2000-01-01T00:58:30Z", "age": "PT1M30S", "clock": "unsynchronised"} {
			if got, _ := temperature.(mess.Object).Get(key); got != want {
				t.Errorf("%s of the temperature: %v, want %v", key, got, want)
			}
		}
	})
}

// cameraWithZone is a camera in another time zone.
type cameraWithZone struct{ in *time.Location }

func (z cameraWithZone) Photo(context.Context) (drivers.Photo, error) {
	return drivers.Photo{Data: []byte("a picture"), MIME: "image/png", CapturedAt: time.Now().In(z.in)}, nil
}

// An image that the exchange loses is no evidence.
func TestLostImageIsNoEvidence(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		plan := capabilities.Plan{Command: capabilities.SetSwitch, Effect: capabilities.Idempotent, Risk: capabilities.RiskComfort, Args: mess.Object{{Key: "on", Value: true}}, Want: []string{"image"}}
		h.addDevice("it", &struct {
			fakeDevice
			switcher
			switchReader
		}{switchReader: switchReader{on: true}}, map[string]capabilities.Plan{"do it": plan})
		h.more[0].SeenBy = "cam"
		h.more = append(h.more, device.Device{Name: "cam", Driver: &struct {
			fakeDevice
			failingCamera
		}{}})
		h.connection.before = func(m mess.Message) error {
			for _, item := range m.Items {
				if r, ok := item.(*mess.Response); ok && strings.Contains(yamlText(t, mess.Message{Items: []mess.Item{r}}), "sha256") {
					return mess.Errorf(mess.MissingReference, "the message names an attachment that was not uploaded")
				}
			}
			return nil
		}
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: do it}")
		h.advance(time.Minute)
		if s := h.wantStatus(ref, mess.Completed); s.Evidence != mess.Acknowledged {
			t.Errorf("evidence %q, want what holds without the picture", s.Evidence)
		}
		h.wantAnswer(ref, "has not taken the pictures")
	})
}
