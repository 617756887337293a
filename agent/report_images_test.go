package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

func TestRejectedImages(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.set(func(l *connection) {
			l.before = func(m mess.Message) error {
				if hasStatus(m, mess.Completed) && strings.Contains(yamlText(h.t, m), "file: fridge-cam.jpg") {
					return mess.Errorf(mess.NotFound, "no such attachment")
				}
				return nil
			}
		})
		ref := h.send(requester, `request: {intent: "what's in the fridge?"}`)
		h.wantStatus(ref, mess.Completed)
		h.wantAnswer(ref, "There is milk", "has not taken the pictures", "no such attachment")
	})
}

// If the exchange stores no files, the report contains the image in the short form; if that is
// too large, the report has no image.
func TestReportContainsImageWithoutFileStore(t *testing.T) {
	for _, fits := range []bool{true, false} {
		withHarnessSetup(t, func(h *harness) {
			h.connection.sync = true
			h.connection.before = func(m mess.Message) error {
				if !fits && hasStatus(m, mess.Completed) && strings.Contains(yamlText(t, m), "data:image/") {
					return mess.Errorf(mess.TooLarge, "the report is larger than the server takes")
				}
				return nil
			}
		}, func(h *harness) {
			ref := h.send(requester, `request: {intent: "what's in the fridge?"}`)
			h.wantStatus(ref, mess.Completed)
			if !fits {
				h.wantAnswer(ref, "There is milk", "has not taken the pictures", "larger than the server takes")
				return
			}
			for _, m := range h.thread(ref).Messages {
				for _, item := range m.Items {
					r, ok := item.(*mess.Response)
					if !ok {
						continue
					}
					for _, e := range r.Content {
						uri, inline := e.Value.(string)
						if at, _ := e.Extra.Get("captured_at"); e.Type == "image" && (!inline || !strings.HasPrefix(uri, "data:image/") || at == nil) {
							t.Errorf("the picture: %+v", e)
						}
						fits = fits && e.Type != "image"
					}
				}
			}
			if fits { // nothing has contradicted it
				t.Error("the report has no image")
			}
		})
	}
}

// While an older report is on its way, the thread gets its image, and the terminal status
// contains it: the version that was stored for a crash does not replace it.
func TestTerminalStatusContainsLateImage(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.cfg.Jitter = func(limit time.Duration) time.Duration { return limit }
		tries := 0
		h.connection.before = func(m mess.Message) error {
			if !hasStatus(m, mess.Completed) || !strings.Contains(yamlText(t, m), "porch light is on") {
				return nil
			}
			if tries++; tries == 1 {
				return mess.Errorf(mess.Unavailable, "not now")
			}
			time.Sleep(5 * time.Second)
			return nil
		}
		h.connection.attach = func() error { time.Sleep(2 * time.Second); return nil } // before and after
	}, func(h *harness) {
		h.send(requester, "request: {intent: turn on the porch light}")
		ref := h.send(requester, `request: {intent: "what's in the fridge?"}`)
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Completed)
		h.image(ref)
		if s, _ := h.last(ref); s.Evidence != mess.Photographed {
			t.Errorf("evidence of the terminal status is %q, want photographed", s.Evidence)
		}
	})
}

func yamlText(t *testing.T, m mess.Message) string {
	t.Helper()
	data, err := m.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// While the upload of an image fails, its report waits, and other reports do not.
func TestSlowUploadDelaysItsReportOnly(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.set(func(l *connection) { l.attach = func() error { return mess.Errorf(mess.Unavailable, "not now") } })
		ref := h.startCleaning()
		h.advance(25 * time.Second)
		h.wantStatus(h.send(requester, "request: {intent: ring the bell}"), mess.Completed)
		h.wantStatus(ref, mess.InProgress)
		h.connection.set(func(l *connection) { l.attach = nil })
		h.advance(2 * time.Minute)
		h.wantStatus(ref, mess.Completed)
		if data, _ := h.image(ref); data != "map" {
			t.Errorf("the picture is %q", data)
		}
	})
}
