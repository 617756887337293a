package template_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers/template"
)

// No value of a configuration ends a path or a query field, or leaves its folder.
func FuzzURL(f *testing.F) {
	for _, v := range []string{"0", "a/b c", "../..", "?x=1&y", "#", "%2e%2e", "{a}", "é"} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		got := template.Values{"a": v}.URL("/x/{a}/y?b={a}&c=1")
		u, err := url.Parse("http://h" + got)
		if err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		q := u.Query()
		if u.Path != "/x/"+v+"/y" || len(q) != 2 || q.Get("b") != v || q.Get("c") != "1" || u.Fragment != "" || u.Host != "h" {
			t.Errorf("%q makes %q: path %q, query %v", v, got, u.Path, q)
		}
		for _, part := range strings.Split(u.EscapedPath(), "/") {
			if part == "." || part == ".." {
				t.Errorf("%q makes %q", v, got)
			}
		}
	})
}

// A value in JSON stays one string, or one number if the placeholder is a number.
func FuzzJSON(f *testing.F) {
	for _, v := range []string{"1", "1e9", `","b":"`, "nan", ""} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		v = strings.ToValidUTF8(v, "?")
		data, err := json.Marshal(template.Values{"name": v, "level": v}.JSON(map[string]any{"a": "{name}", "b": []any{"{level}"}, "c": true}))
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]any
		if err := json.Unmarshal(data, &back); err != nil || len(back) != 3 || back["a"] != v || len(back["b"].([]any)) != 1 {
			t.Errorf("%q makes %s: %v", v, data, err)
		}
	})
}

func FuzzPick(f *testing.F) {
	f.Add([]byte(`{"a":[{"b":1}],"c":null,"d":"1.5"}`), "a.0.b")
	f.Add([]byte(`[[]]`), "0.0")
	f.Add([]byte(`{"":{"":true}}`), ".")
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		v, err := template.Parse(data)
		if err != nil {
			if v != nil {
				t.Errorf("%v beside %v", v, err)
			}
			return
		}
		found, ok := template.Lookup(v, path)
		if ok != (found != nil) {
			t.Errorf("%v, %t", found, ok)
		}
		if n, number := template.Number(found); number && n != n {
			t.Errorf("%v is a number", found)
		}
		_, _ = template.Level{Value: path}.Read(nil, data) // must not panic
	})
}

func TestLevel(t *testing.T) {
	for _, c := range []struct {
		level    template.Level
		in, want string // on, off, or a part of the error
	}{
		{template.Level{}, "ON\n", "on"},
		{template.Level{}, "", "which is neither on nor off"},
		{template.Level{Value: "a.0"}, `{"a":[true]}`, "on"},
		{template.Level{Value: "a", On: []string{"1"}, Off: []string{"0"}}, `{"a":0}`, "off"},
		{template.Level{Value: "a", On: []string{"1"}, Off: []string{"0"}}, `{"a":true}`, `the device reports "true", which is neither`},
		{template.Level{Value: "a"}, `{"b":true}`, "the answer of the device has no a"},
		{template.Level{Value: "a"}, `{"a":{"b":true}}`, "the answer of the device has no a"},
	} {
		on, err := c.level.Read(nil, []byte(c.in))
		got := map[bool]string{true: "on", false: "off"}[on]
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%+v of %q = %s, want %s", c.level, c.in, got, c.want)
		}
	}
}

func TestTimer(t *testing.T) {
	seconds := template.Timer{Unit: time.Second, Min: 12 * time.Second, Max: time.Hour, Plus: 100}
	for in, want := range map[time.Duration]string{
		time.Second: "112", 12 * time.Second: "112", 12*time.Second + 1: "113", time.Hour: "3700", time.Hour + 1: "",
	} {
		if got, ok := seconds.For(in); got != want || ok != (want != "") {
			t.Errorf("%v = %q, %t; want %q", in, got, ok, want)
		}
	}
}

// A timer with a finer unit for short times gets the short time.
func TestFineTimer(t *testing.T) {
	pulse := template.Timer{Unit: time.Second, Min: 12 * time.Second, Max: time.Hour, Plus: 100}
	pulse.Fine.Unit, pulse.Fine.Max = 100*time.Millisecond, 11*time.Second
	for in, want := range map[time.Duration]struct {
		value string
		lasts time.Duration
	}{
		0: {"1", 100 * time.Millisecond}, 4950 * time.Millisecond: {"50", 5 * time.Second}, 11 * time.Second: {"110", 11 * time.Second},
		11*time.Second + 1: {"112", 12 * time.Second}, time.Hour: {"3700", time.Hour}, time.Hour + 1: {"", 0},
	} {
		if got, _ := pulse.For(in); got != want.value || pulse.Lasts(in) != want.lasts {
			t.Errorf("%v = %q, lasts %v; want %q, %v", in, got, pulse.Lasts(in), want.value, want.lasts)
		}
	}
	for _, wrong := range []time.Duration{-1, 20 * time.Second} {
		if pulse.Fine.Unit = wrong; pulse.Validate() == nil {
			t.Errorf("a fine unit of %v is taken", wrong)
		}
	}
}
