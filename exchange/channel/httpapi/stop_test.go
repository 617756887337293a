package httpapi_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// The server accepts a stop with any other fields of any length, but the list of executors must be
// valid.
func TestStopIsAccepted(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	h.register("phone", `"x"`)
	stops := 0
	for _, body := range []string{
		``, `{}`, `{"why":"` + strings.Repeat("why? ", 30_000) + `"}`, `{"why":[{"a":5}],"id":5,"by":{},"at":true,"x_own":[]}`, `{"why":null,"executors":["phone"]}`, `{"executors":"phone"}`,
	} {
		r := h.do("POST", root+"/stop", h.op, body)
		if stops++; r.code != 202 || len(r.field("why")) > 512 || r.field("by") != "operator" || len(h.x.Executors()[0].UnconfirmedStops) != stops {
			t.Errorf("%.80s: %d %.300s", body, r.code, r.body)
		}
	}
	for _, body := range []string{`null`, `5`, `[]`, `{"executors":7}`, `{"executors":[7]}`, `{"executors":{}}`, `why`} {
		h.wantReadableError(body, h.do("POST", root+"/stop", h.op, body), 400)
	}
	h.wantReadableError("nobody", h.do("POST", root+"/stop", h.op, `{"executors":["fone"]}`), 422)
	if r := h.do("POST", root+"/stop", h.op, "why: 5\nexecutors: phone\n", "Content-Type", "application/yaml"); r.code != 202 || r.field("why") != "5" {
		t.Errorf("%d %s", r.code, r.body)
	}
	if n := len(h.x.Executors()[0].UnconfirmedStops); n != stops+1 {
		t.Errorf("%d stops, want %d", n, stops+1)
	}
}
