package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/home"
	"github.com/messkit/messkit/exchange/store/memory"
)

// The map of a robot has its picture and its positions. It needs a key, and the executor in the same process.
func TestMap(t *testing.T) {
	cfg := exchange.DefaultConfig()
	cfg.States = true
	read := func(_ context.Context, executor, device string) (*home.Map, error) {
		switch {
		case executor != "vm":
			return nil, nil
		case device == "robot":
			return &home.Map{Image: []byte("picture"), MIME: "image/png", At: "2026-11-21T12:00:00Z", Width: 10, Height: 20, Rooms: []home.MapRoom{{Name: "kitchen", Width: 5, Height: 6}}, Dock: &home.MapPoint{X: 1, Y: 2}}, nil
		}
		return nil, errors.New("the robot does not answer")
	}
	h := newHarnessOver(t, httpapi.Config{Rate: unlimited, Map: read}, cfg, memory.New()).serve()
	h.register("vm", `{"vacuum-floor":{"devices":["robot","lost"],"effect":"once"}}`)
	h.register("hub", `{"vacuum-floor":{"devices":["far"],"effect":"once"}}`)
	key := h.register("agent", "")
	const want = `{"image":"cGljdHVyZQ==","mime":"image/png","at":"2026-11-21T12:00:00Z","width":10,"height":20,"rooms":[{"name":"kitchen","x":0,"y":0,"width":5,"height":6}],"dock":{"x":1,"y":2}}`
	if r := h.do("GET", "/api/v1/devices/vm:robot/map", key, ""); r.code != http.StatusOK || strings.TrimSpace(r.body) != want {
		t.Errorf("%d %s, want %s", r.code, r.body, want)
	}
	if r := h.do("GET", "/api/v1/devices/vm:lost/map", key, ""); r.code != http.StatusServiceUnavailable || !strings.Contains(r.body, "the robot does not answer") {
		t.Errorf("%d %s", r.code, r.body)
	}
	for device, says := range map[string]string{"hub:far": "runs in another program", "vm:none": "there is no device"} {
		if r := h.do("GET", "/api/v1/devices/"+device+"/map", key, ""); r.code != http.StatusNotFound || !strings.Contains(r.body, says) {
			t.Errorf("%d %s, want %q", r.code, r.body, says)
		}
	}
	h.want(h.do("GET", "/api/v1/devices/vm:robot/map", "", ""), http.StatusUnauthorized, "")
}
