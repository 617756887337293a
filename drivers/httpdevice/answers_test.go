package httpdevice_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
)

// The state is the answer of the device, not the last command.
func TestDeviceThatDoesNotObey(t *testing.T) {
	for name, f := range families {
		if f.timer == 0 {
			continue
		}
		b := newBench(t, f.device)
		d := started(t, "family: "+name+"\nsafe: keep\nurl: "+b.URL+f.config)
		b.device().wrong = true
		switchErr := d.(drivers.Switch).Switch(t.Context(), true)
		if on, err := d.(drivers.SwitchReader).On(t.Context()); on || err != nil {
			t.Errorf("%s: on=%t, %v", name, on, err)
		}
		if !strings.HasPrefix(name, "shelly-gen2") && (switchErr == nil || !strings.Contains(switchErr.Error(), "but the device answers")) { // these answer with the previous state, or without a state
			t.Errorf("%s: %v", name, switchErr)
		}
	}
}

func TestOnlyUnsentCommandIsNothingDone(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	d := started(t, "family: shelly-gen2\nsafe: keep\nurl: "+gone.URL)
	err := d.(drivers.Switch).Switch(t.Context(), true)
	if !errors.Is(err, drivers.ErrNothingDone) || !strings.HasPrefix(err.Error(), "desk-lamp: ") {
		t.Error(err)
	}
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server notices a disconnect after it has read the body
		<-r.Context().Done()
	}))
	defer slow.Close()
	d = started(t, "family: shelly-gen2\nsafe: keep\ntimeout: 3s\nurl: "+slow.URL)
	err = d.(drivers.Switch).Switch(t.Context(), true)
	if err == nil || errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "the device may have received the command") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := d.(drivers.Switch).Switch(ctx, true); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// No answer of a device redirects the driver, makes it read forever, or makes it disclose a
// secret.
func TestHostileAnswersAreBounded(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	for _, c := range []struct {
		name string
		do   http.HandlerFunc
		want string
	}{
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "answers 307"},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "the answer of the device is not JSON"},
		{"two values", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{} {}")) }, "more than one JSON value"},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, "the answer of the device is not JSON"},
		{"another family", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]string{"Command": "Unknown"}) }, "the device reports a fault, with Command Unknown"},
		{"an echo of the password", func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.URL.RawQuery+" open sesame", http.StatusBadRequest)
		}, "answers 400; "},
		{"not logged in", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "the device requires a login and names no method"},
		{"endless", func(w http.ResponseWriter, _ *http.Request) {
			for _, err := w.Write(make([]byte, 1<<16)); err == nil; _, err = w.Write(make([]byte, 1<<16)) {
			}
		}, "more than 1048576 bytes"},
	} {
		s := httptest.NewServer(c.do)
		d := started(t, "family: tasmota\nsafe: keep\nurl: "+s.URL+login)
		err := d.(drivers.Switch).Switch(t.Context(), true)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", c.name, err)
		}
		s.Close()
	}
}

// A server that accepts everything is not a plug: the page of a router, another server, an
// error in an unexpected answer.
func TestAnyAnswerIsNoSuccess(t *testing.T) {
	for name, body := range map[string]string{"a page": "<html>Log in", "an error": `{"code":-103,"message":"Invalid argument"}`, "nothing": "", "null": "null"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		d := started(t, "family: shelly-gen2\nsafe: keep\ntimeout: 30s\nurl: "+s.URL)
		for _, on := range []bool{true, false} {
			if err := d.(drivers.Switch).Switch(t.Context(), on); err == nil || errors.Is(err, drivers.ErrNothingDone) {
				t.Errorf("%s: Switch(%t) = %v, want an unknown outcome", name, on, err)
			}
		}
		if err := d.(drivers.AutoOff).SwitchFor(t.Context(), true, time.Minute); err == nil {
			t.Errorf("%s: the timer counts as set", name)
		}
		s.Close()
	}
}
