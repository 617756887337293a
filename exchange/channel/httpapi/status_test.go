package httpapi_test

import (
	"testing"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// Only an operator can read the status of the program, and only if Config.Status is set.
func TestStatus(t *testing.T) {
	h := startHarness(t, httpapi.Config{Status: func() any { return map[string]int{"threads": 3} }})
	silent := startHarness(t, httpapi.Config{})
	for _, c := range []struct {
		name, key string
		h         *harness
		code      int
		want      string
	}{
		{"an operator", h.op, h, 200, `{"threads":3}`},
		{"an executor", h.register("phone", `"x"`), h, 403, ""},
		{"nobody", "", h, 401, ""},
		{"a program that says nothing", silent.op, silent, 404, ""},
	} {
		r := c.h.do("GET", root+"/status", c.key, "")
		if r.code != c.code || c.want != "" && r.body != c.want {
			t.Errorf("%s: %d %q, want %d %q", c.name, r.code, r.body, c.code, c.want)
		}
	}
}
