package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/cli/doctor"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon/inspect"
	"github.com/messkit/messkit/internal/picture"
)

func TestDoctorReportsExpiringCertificates(t *testing.T) {
	day := 24 * time.Hour
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		from, to time.Duration
		want     string
	}{
		{-day, 100 * day, ""},
		{-day, 10 * day, "renew it now"},
		{-9 * day, -day, "was good until 2026-11-21"},
		{day, 9 * day, "is this clock right?"},
	} {
		err := doctor.Dates(&x509.Certificate{NotBefore: now.Add(c.from), NotAfter: now.Add(c.to)}, now)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("from %v to %v: %v", c.from, c.to, err)
		}
	}
}

// fakeCamera is a camera that returns one image.
type fakeCamera struct {
	drivers.Base
	link drivers.Connection
	data []byte
}

func (l *fakeCamera) Connection() gobot.Connection { return &l.link }

func (l *fakeCamera) Start() error { return nil }

func (l *fakeCamera) Halt() error { return nil }

func (l *fakeCamera) Photo(context.Context) (drivers.Photo, error) {
	return drivers.Photo{Data: l.data, MIME: "image/png", CapturedAt: time.Now()}, nil
}

// The doctor warns about a camera whose images show nothing.
func TestDoctorWarnsAboutEmptyImage(t *testing.T) {
	draw := func(paint func(*image.Gray)) []byte {
		m := image.NewGray(image.Rect(0, 0, 64, 64))
		paint(m)
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	black := draw(func(*image.Gray) {})
	sign := draw(func(m *image.Gray) {
		for i := range m.Pix {
			m.Pix[i] = uint8(i % 64 / 16 * 80)
		}
	})
	known := filepath.Join(t.TempDir(), "gone.png")
	if err := os.WriteFile(known, sign, 0o600); err != nil {
		t.Fatal(err)
	}
	sketch, err := config.SketchOf(known)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		d    config.Device
		want output.CheckResult
	}{
		"well":  {config.Device{Dev: &fakeCamera{data: sign}}, output.CheckResult{OK: true, Says: "takes pictures of 64 by 64 pixels"}},
		"black": {config.Device{Dev: &fakeCamera{data: black}}, output.CheckResult{OK: true, Note: true, Says: "takes pictures of 64 by 64 pixels, and they show nothing: it is black; check the lens cover and the light"}},
		"gone":  {config.Device{Dev: &fakeCamera{data: sign}, Placeholders: []picture.Sketch{sketch}}, output.CheckResult{Says: "the camera is missing: its server sends a placeholder; check its plug and its network"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.want.What = "cam"
			d := device.Device{Name: "cam", Driver: c.d.Dev, Placeholders: c.d.Placeholders}
			trials := device.NewSelfTest(policy.New(settings.DefaultConfig(), time.Now, output.NoLog), []device.Device{d}, time.Now)
			message, err := inspect.TestDevice(t.Context(), trials, d)
			if got := inspect.SelfTestResult("cam", message, err); got != c.want {
				t.Errorf("result is %+v, want %+v", got, c.want)
			}
		})
	}
}

// The doctor reports no problem for a plug without a meter that reports its state.
func TestDoctorAcceptsPlugWithoutMeter(t *testing.T) {
	plug := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"POWER":"ON","StatusSNS":{"Time":"2026-11-22T20:00:00"}}`)
	}))
	t.Cleanup(plug.Close)
	dev, err := discovered(t, "httpdevice", "plug", "here", map[string]string{"family": "tasmota", "safe": "keep", "url": plug.URL}).Open()
	if err != nil {
		t.Fatal(err)
	}
	d := device.Device{Name: "plug", Driver: dev}
	message, err := inspect.TestDevice(t.Context(), device.NewSelfTest(policy.New(settings.DefaultConfig(), time.Now, output.NoLog), []device.Device{d}, time.Now), d)
	if got, want := inspect.SelfTestResult("plug", message, err), (output.CheckResult{What: "plug", OK: true, Says: "is on"}); got != want {
		t.Errorf("result is %+v, want %+v", got, want)
	}
}
