package httpdevice_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpdevice"
	"github.com/messkit/messkit/drivers/template"
)

// A user's template is a file, and the driver reports every error in it.
func TestOwnFamily(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("fan.yaml", `
class: fan
with: {speed: {default: "3", about: "1 to 5"}}
switch:
  on: [{put: "/fan/{speed}"}]
  off: [{delete: /fan}]
  state: {get: /fan, on: [spinning], off: [still]}
`)
	spins := "still"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "PUT /fan/3":
			spins = "spinning"
		case "DELETE /fan":
			spins = "still"
		}
		_, _ = w.Write([]byte(spins + "\n"))
	}))
	defer s.Close()
	d := started(t, "family: fan\nfamilies: "+dir+"\nurl: "+s.URL)
	if d.(drivers.ClassReporter).Class() != "fan" || d.(drivers.Switch).Switch(t.Context(), true) != nil || spins != "spinning" {
		t.Errorf("the fan is %s, want spinning", spins)
	}
	if _, timed := d.(drivers.AutoOff); timed {
		t.Error("the device has a timer that is not in the template")
	}
	write("bad.yaml", `
switch:
  on: [{get: /on, post: /on}]
  off: [{get: "/off?x={what}"}]
  state: {get: no, value: on}
  on_for: {unit: 1s, max: 1h, calls: [{get: "/a/{password}?x={for}"}]}
colour: red
readings:
  - {get: /x, json: {a: 1}}
`)
	_, err := open("family: bad\nfamilies: " + dir + "\nurl: http://x")
	for _, want := range []string{
		filepath.Join(dir, "bad.yaml") + ":7: colour: unknown key", "switch.on: has 2 of get, post, put and delete",
		"switch.off: {what} has no value", "switch.on_for.calls: errors show the path", `switch.state: "no" does not begin with a /`, "readings[0]: GET has no body", "readings[0].value: is missing, or the quantity is",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
}

// Each template has a description and the address of the manufacturer's documentation.
func TestTemplatesAreExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/drivers/httpdevice.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range template.Names(httpdevice.Families(), "") {
		var one httpdevice.Template
		if err := template.Load(httpdevice.Families(), "", name, &one); err != nil {
			t.Fatal(err)
		}
		if one.About == "" || !strings.HasPrefix(one.Docs, "https://") || one.Class == "" || !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("%s.yaml lacks about, docs or class, or is not in docs/drivers/httpdevice.md", name)
		}
	}
	all, err := fs.ReadDir(httpdevice.Families(), ".")
	if err != nil || slices.ContainsFunc(all, fs.DirEntry.IsDir) {
		t.Error(all, err)
	}
}

// The driver ignores an optional reading that the device does not have, but not a fault.
func TestOptionalReadings(t *testing.T) {
	dir := t.TempDir()
	const text = `readings:
  - {quantity: power, unit: W, get: /power, value: watts}
  - {quantity: signal, unit: dBm, get: /radio, value: rssi, optional: true}
`
	if err := os.WriteFile(filepath.Join(dir, "meter.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for status, want := range map[int]string{http.StatusNotFound: "", http.StatusInternalServerError: "answers 500"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/power" {
				w.WriteHeader(status)
				return
			}
			_, _ = w.Write([]byte(`{"watts": 42}`))
		}))
		defer s.Close()
		list, err := started(t, "family: meter\nfamilies: "+dir+"\nurl: "+s.URL).(drivers.Sensor).Read(t.Context())
		if want == "" && (err != nil || len(list) != 1 || list[0].Value != 42) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d: %v, %v", status, list, err)
		}
	}
}

// A timer without a time, a lamp without a brightness: a template must use the values of
// its calls. The error names the call.
func TestOwnFamilyWithoutItsValue(t *testing.T) {
	dir := t.TempDir()
	const text = `switch:
  on:
    - {get: /on}
    - {get: now}
  off: [{get: /off}]
  state: {get: /state}
  on_for: {unit: 1s, max: 1h, calls: [{get: /on}]}
  dim: {calls: [{get: /dim}], get: /dim, value: level, full: 100}
  tint: {calls: [{get: /tint}], get: /tint, value: rgb}
`
	if err := os.WriteFile(filepath.Join(dir, "deaf.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := open("family: deaf\nfamilies: " + dir + "\nurl: http://x")
	for _, want := range []string{
		`deaf.yaml:4: switch.on[1]: "now" does not begin with a /`, "deaf.yaml:7: switch.on_for.calls: the message does not contain the value for the device; write {for}",
		"deaf.yaml:8: switch.dim.calls: the message does not contain the value for the device", "deaf.yaml:9: switch.tint.calls: the message does not contain the value for the device",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
}
