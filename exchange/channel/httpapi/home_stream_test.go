package httpapi_test

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// eventOf returns the next event of a stream, and its data.
func eventOf(t *testing.T, s *bufio.Reader, name string) (id string, data map[string]any) {
	t.Helper()
	id, got, text := nextEvent(t, s)
	if got != name || json.Unmarshal([]byte(text), &data) != nil {
		t.Fatalf("got %s %s, want %s", got, text, name)
	}
	return id, data
}

func TestStreamShowsChanges(t *testing.T) {
	f := startHome(t)
	observer, err := f.keys.Issue("observer", exchange.Observer)
	if err != nil {
		t.Fatal(err)
	}
	one, two := f.stream("/api/v1/stream", f.agent), f.stream(root+"/stream", observer)
	first, home := eventOf(t, one, "home")
	if same, _ := eventOf(t, two, "home"); same != first || len(home["devices"].([]any)) != 3 {
		t.Errorf("ids %s and %s of %v", first, same, home)
	}
	ref := f.operate("vm:hall-light/switch-on", "")
	id, d := eventOf(t, one, "device")
	same, seen := eventOf(t, two, "device")
	if same != id || d["id"] != "vm:hall-light" || d["task"].(map[string]any)["ref"] != ref || len(d["verbs"].([]any)) != 2 || len(seen["verbs"].([]any)) != 0 {
		t.Errorf("%s %v\n%s %v", id, d, same, seen)
	}
	f.want(f.do("PATCH", root+"/executors/vm", f.vm, `{"states":`+strings.ReplaceAll(vmStates, `"state":"on"`, `"state":"off"`)+`}`), http.StatusOK, "")
	for _, s := range []*bufio.Reader{one, two, f.stream("/api/v1/stream?after="+id, f.agent), f.stream("/api/v1/stream", f.agent, "Last-Event-ID", id)} {
		if _, d := eventOf(t, s, "device"); d["state"] != "off" {
			t.Errorf("got %v", d)
		}
	}
}

// A client of an earlier process gets the whole home, and so does one with a wrong position.
func TestStreamAfterRestart(t *testing.T) {
	f := startHome(t)
	id, _ := eventOf(t, f.stream("/api/v1/stream", f.agent), "home")
	f.server = httpapi.New(f.x, f.keys, httpapi.Config{Rate: unlimited}, slog.New(slog.DiscardHandler))
	f.serve()
	for _, after := range []string{id, "x", "-1", strings.Repeat("9", 200)} {
		if again, _ := eventOf(t, f.stream("/api/v1/stream", f.agent, "Last-Event-ID", after), "home"); again == id {
			t.Errorf("the id %s is that of an earlier process", again)
		}
	}
}

func TestStreamNeedsKey(t *testing.T) {
	f := startHome(t)
	f.want(f.do("GET", "/api/v1/stream", "", ""), http.StatusUnauthorized, "")
	f.want(f.do("HEAD", "/api/v1/stream", f.agent, ""), http.StatusMethodNotAllowed, "")
	s := f.stream("/api/v1/stream", f.agent)
	eventOf(t, s, "home")
	f.want(f.do("DELETE", root+"/keys/agent", f.op, ""), http.StatusOK, "")
	if rest, err := io.ReadAll(s); len(rest) > 0 || err != nil {
		t.Errorf("a stream without a valid key goes on: %q, %v", rest, err)
	}
}

// The stream of a program that ends does not delay it, and an idle one has a comment every 15 s.
func TestStreamOfRunningServer(t *testing.T) {
	withRunningServer(t, func(t *testing.T, h *runningServer) {
		s := h.stream("/api/v1/stream", h.op)
		eventOf(t, s, "home")
		began := time.Now()
		for range 3 {
			line, err := s.ReadString('\n')
			if took := time.Since(began).Round(time.Second); err != nil || line != ": beat\n" || took%(15*time.Second) != 0 {
				t.Errorf("%q, %v after %v", line, err, took)
			}
			if line, err = s.ReadString('\n'); line != "\n" || err != nil {
				t.Errorf("%q, %v", line, err)
			}
		}
		h.cancel()
		if data, err := io.ReadAll(s); len(data) > 0 || err != nil {
			t.Errorf("the stream: %q, %v", data, err)
		}
		began = time.Now()
		if err := <-h.done; err != nil || time.Since(began) > time.Second {
			t.Errorf("Run: %v after %v", err, time.Since(began))
		}
	})
}
