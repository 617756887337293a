package httpapi_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/httpapi"
)

// next reads one event of a stream, without comments.
func next(t *testing.T, r *bufio.Reader) (id, name, data string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "event: "):
			name = line[7:]
		case strings.HasPrefix(line, "data: "):
			data = line[6:]
		case line == "" && name != "":
			return id, name, data
		}
	}
}

func (h *house) stream(path, key string, headers ...string) *bufio.Reader {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), "GET", h.url+path, nil)
	if err != nil {
		h.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { res.Body.Close() })
	return bufio.NewReader(res.Body)
}

func TestEvents(t *testing.T) {
	h := open(t, httpapi.Config{})
	phone, agent := h.register("phone", `"x"`), h.register("agent", "")
	s := h.stream(root+"/events?after=now", agent)
	first, name, _ := next(t, s)
	if name != "reset" {
		t.Fatalf("an unknown place to resume gives %s", name)
	}
	work := h.stream(root+"/events?as=executor", phone)
	ref := h.create(agent, `{"intent":"look","requires":["x"]}`)
	if _, name, data := next(t, work); name != "message" || !strings.Contains(data, `"request"`) || !strings.Contains(data, ref) {
		t.Errorf("offer: %s %s", name, data)
	}
	_, name, data := next(t, s)
	if name != "message" || !strings.Contains(data, `"thread":{"ref":"`+ref) || !strings.Contains(data, `"kind":"message"`) {
		t.Errorf("request: %s %s", name, data)
	}
	h.do("PATCH", root+"/requests/"+ref, phone, `{"status":"claimed"}`)
	if _, _, data := next(t, s); !strings.Contains(data, `"code":"claimed"`) {
		t.Errorf("claim: %s", data)
	}
	// A client that was away gets what it missed, and nothing twice.
	again := h.stream(root+"/events", agent, "Last-Event-ID", first)
	if _, _, data := next(t, again); !strings.Contains(data, `"request"`) {
		t.Errorf("missed: %s", data)
	}
	if _, _, data := next(t, again); !strings.Contains(data, `"claimed"`) {
		t.Errorf("missed: %s", data)
	}

	r := h.do("GET", root+"/events?wait=10s&after="+first, agent, "")
	if r.code != 200 || strings.Count(r.body, `"event":"message"`) != 2 {
		t.Errorf("poll: %d %s", r.code, r.body)
	}
	last := r.field("last")
	r = h.do("GET", root+"/events?wait=0s&after="+last, agent, "")
	h.want(r, 200, fmt.Sprintf(`{"events":[],"last":%q}`, last))
}
