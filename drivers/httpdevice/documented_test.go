package httpdevice_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/messkit/messkit/drivers/httpdevice"
	"github.com/messkit/messkit/drivers/template"
	"github.com/messkit/messkit/drivers/template/templatetest"
)

// documented is the content of testdata/documented.yaml.
type documented struct {
	Families []struct {
		Family, Source string
		Steps          []step
	}
}

type step struct {
	Do, Want string
	Receives []exchange
}

type exchange struct {
	Call, Body, Answer string
	May                bool // an optional request
}

// same compares a call with the documented one.
func (e exchange) same(call string, body []byte) bool {
	var want, got any
	if e.Call != call || (e.Body == "") != (len(body) == 0) {
		return false
	}
	return e.Body == "" || json.Unmarshal([]byte(e.Body), &want) == nil && json.Unmarshal(body, &got) == nil && reflect.DeepEqual(want, got)
}

// scripted is a documented device: it answers as in the step, and accepts no other
// request.
type scripted struct {
	mu       sync.Mutex
	now      step
	received []bool   // received requests of now.Hears
	others   []string // other received requests
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	call := r.Method + " " + r.URL.RequestURI()
	i := slices.IndexFunc(s.now.Receives, func(e exchange) bool { return e.same(call, body) })
	if i < 0 {
		s.others = append(s.others, strings.TrimSpace(call+" "+string(body)))
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s.received[i] = true
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, s.now.Receives[i].Answer)
}

func (s *scripted) begin(now step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.received, s.others = now, make([]bool, len(now.Receives)), nil
}

// end returns the differences from the documentation. A call ends with its answer.
func (s *scripted) end() (wrong []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range s.now.Receives {
		if !s.received[i] && !e.May {
			wrong = append(wrong, "it was not called "+e.Call+" "+e.Body)
		}
	}
	for _, other := range s.others {
		wrong = append(wrong, "it was called as is not documented: "+other)
	}
	return wrong
}

// rows returns the steps that each template must pass.
func rows(one httpdevice.Template) (list []string) {
	if s := one.Switch; s != nil {
		list = append(list, "on", "off")
		for verb, has := range map[string]bool{"on_for": s.OnFor != nil, "dim": s.Dim != nil, "level": s.Dim != nil && s.White == nil, "tint": s.Tint != nil, "colour": s.Tint != nil, "warm": s.White != nil, "warmth": s.White != nil} {
			if has {
				list = append(list, verb)
			}
		}
	}
	if one.Cover != nil {
		list = append(list, "open", "close", "to", "stop", "opening")
	}
	if len(one.Readings) > 0 {
		list = append(list, "read")
	}
	return list
}

// TestDocumentedCalls compares each verb of each template with the documentation of its
// devices: the requests and the answers.
func TestDocumentedCalls(t *testing.T) {
	data, err := os.ReadFile("testdata/documented.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all documented
	if err := yaml.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	templates := map[string]httpdevice.Template{}
	for _, name := range template.Names(httpdevice.Families(), "") {
		var one httpdevice.Template
		if err := template.Load(httpdevice.Families(), "", name, &one); err != nil {
			t.Fatal(err)
		}
		templates[name] = one
	}
	held := map[string][]string{}
	for i, one := range all.Families {
		for _, s := range one.Steps {
			verb, _, _ := strings.Cut(s.Do, " ")
			held[one.Family] = append(held[one.Family], verb)
		}
		t.Run(fmt.Sprintf("%s-%d", one.Family, i), func(t *testing.T) {
			if one.Source == "" {
				t.Error("the source is missing")
			}
			s := &scripted{}
			server := httptest.NewServer(s)
			defer server.Close()
			config := "family: " + one.Family + "\nurl: " + server.URL + "\ntimeout: 1m\n"
			if templates[one.Family].Switch != nil {
				config += "safe: keep\n"
			}
			if templates[one.Family].Token != "" {
				config += "token: " + key + "\n"
			}
			d := started(t, config)
			for _, now := range one.Steps {
				s.begin(now)
				if got, err := templatetest.Do(t.Context(), d, now.Do); err != nil || got != now.Want {
					t.Errorf("%s: %q, %v; want %q", now.Do, got, err, now.Want)
				}
				for _, wrong := range s.end() {
					t.Errorf("%s: %s", now.Do, wrong)
				}
			}
		})
	}
	for name, one := range templates {
		for _, row := range rows(one) {
			if !slices.Contains(held[name], row) {
				t.Errorf("%s: nothing documented is held against %q", name, row)
			}
		}
	}
}

// A server that answers 200 to everything (the login page of a router, another server at
// that address), and an error of the device with status 200, do not count as success.
func TestForeignAnswerIsNoSuccess(t *testing.T) {
	for name, body := range map[string]string{
		"a page":   "<!doctype html><html>Welcome to the hotel</html>",
		"a fault":  `{"code":-103,"message":"Invalid argument"}`,
		"a list":   "[]",
		"nothing":  "",
		"a no":     `{"Command":"Unknown"}`,
		"a log-in": `{"WARNING":"Need user=<username>&password=<password>"}`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		defer server.Close()
		for _, family := range template.Names(httpdevice.Families(), "") {
			var one httpdevice.Template
			load(t, family, &one)
			config := "family: " + family + "\nurl: " + server.URL + "\ntimeout: 1m\n"
			if one.Switch != nil {
				config += "safe: keep\n"
			}
			if one.Token != "" {
				config += "token: " + key + "\n"
			}
			tasmota := strings.HasPrefix(family, "tasmota")
			if !tasmota && (name == "a no" || name == "a log-in") || name == "a list" && strings.HasPrefix(family, "shelly-gen2-") {
				continue // these answer null, which a list resembles
			}
			for _, act := range acts(one) {
				if _, err := templatetest.Do(t.Context(), started(t, config), act); err == nil {
					t.Errorf("%s: %q is taken for obedience to %q", family, body, act)
				}
			}
		}
	}
}

// acts returns the steps of a template that change the device.
func acts(one httpdevice.Template) (list []string) {
	for _, row := range rows(one) {
		if arg, does := map[string]string{"on": "", "off": "", "on_for": " 60s", "dim": " 60", "tint": " #ff0000", "warm": " 3000", "open": "", "close": "", "to": " 30", "stop": ""}[row]; does {
			list = append(list, row+arg)
		}
	}
	return list
}

func load(t *testing.T, name string, to *httpdevice.Template) {
	t.Helper()
	if err := template.Load(httpdevice.Families(), "", name, to); err != nil {
		t.Fatal(err)
	}
}
