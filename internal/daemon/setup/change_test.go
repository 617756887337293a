package setup_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/internal/config/edit"
	"github.com/messkit/messkit/internal/daemon/setup"
)

// two is a home in which a lamp names its camera.
const two = "devices:\n  # sees the door\n  camera: {driver: sim-camera, room: porch, area: porch}\n  lamp: {driver: sim-bulb, area: hall, seen_by: camera} # by the door\n"

func TestRemove(t *testing.T) {
	p, s, file := newSetup(t, two)
	r, err := s.Remove(t.Context(), "lamp")
	if err != nil || !slices.Equal(p.removed, []string{"lamp"}) || p.c.Opened.Device("lamp") != nil {
		t.Fatal(r, err, p.removed)
	}
	if want := "devices:\n  # sees the door\n  camera: {driver: sim-camera, room: porch, area: porch}\n"; read(t, file) != want {
		t.Errorf("%q, want %q", read(t, file), want)
	}
	list := edit.Backups(file)
	if len(list) != 1 || r.(setup.Result).Backup != list[0] {
		t.Fatalf("backups %q, %+v", list, r)
	}
	if before, err := edit.Backup(file, list[0]); err != nil || string(before) != two {
		t.Errorf("the backup is %q: %v", before, err)
	}
}

// What refers to a device prevents its removal, and so does a task. The file stays.
func TestNamedOrBusyDeviceStays(t *testing.T) {
	p, s, file := newSetup(t, two)
	r, err := s.Remove(t.Context(), "camera")
	if err != nil || len(r.(setup.Result).Problems) != 1 || r.(setup.Result).Problems[0].Path != "devices.lamp.seen_by" {
		t.Errorf("%+v %v", r, err)
	}
	p.busy = errors.New("lamp: the task t1 uses it")
	for name, change := range map[string]func() (any, error){
		"removal": func() (any, error) { return s.Remove(t.Context(), "lamp") },
		"change":  func() (any, error) { return s.Change(t.Context(), "lamp", map[string]string{"seen_by": ""}) },
	} {
		if _, err := change(); !errors.Is(err, p.busy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.busy = nil
	p.fail = errors.New("lamp: it may be on")
	if _, err := s.Remove(t.Context(), "lamp"); !errors.Is(err, p.fail) || p.c.Opened.Device("lamp") == nil {
		t.Error(err)
	}
	if _, err := s.Remove(t.Context(), "none"); err == nil {
		t.Error("an unknown device was removed")
	}
	if read(t, file) != two || len(edit.Backups(file)) != 0 {
		t.Errorf("the file is %q, with the backups %q", read(t, file), edit.Backups(file))
	}
}

func TestLook(t *testing.T) {
	p, s, _ := newSetup(t, two)
	p.busy = errors.New("busy")
	r, err := s.Look(context.Background(), "camera")
	if err != nil {
		t.Fatal(err)
	}
	l := r.(setup.Look)
	if d := cmp.Diff([]setup.Field{{Key: "room", Value: "porch", Kind: "text"}}, l.Fields); d != "" || l.LastOf != "porch" || l.InUse != "busy" || l.Restart != "" || l.Driver != "sim-camera" || l.About == "" {
		t.Errorf("%+v %s", l, d)
	}
	if len(l.Refers) != 1 || l.Refers[0].Path != "devices.lamp.seen_by" || l.Refers[0].Line != 0 {
		t.Errorf("%+v", l.Refers)
	}
	if _, err := s.Look(t.Context(), "none"); err == nil {
		t.Error("an unknown device was shown")
	}
}

const mqttPlug = "devices:\n  plug:\n    driver: mqttdevice\n    broker: mqtt://127.0.0.1:1883\n    password: hunter2\n    username: ana\n    timeout: 9s\n    family: tasmota\n    safe: keep # as it is\n    with: {topic: desk}\n"

func TestChange(t *testing.T) {
	p, s, file := newSetup(t, mqttPlug)
	look := func() string {
		r, err := s.Look(t.Context(), "plug")
		text, err2 := json.Marshal(r)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		return string(text)
	}
	if text := look(); strings.Contains(text, "hunter2") || !strings.Contains(text, `"key":"password","value":"","kind":"text","secret":true`) || !strings.Contains(text, `"more":["with"]`) {
		t.Error(text)
	}
	r, err := s.Change(t.Context(), "plug", map[string]string{"broker": " mqtt://10.0.0.7:1883 ", "password": "", "timeout": ""})
	if err != nil || !slices.Equal(p.replaced, []string{"plug"}) {
		t.Fatal(r, err, p.replaced)
	}
	want := strings.NewReplacer("127.0.0.1", "10.0.0.7", "    timeout: 9s\n", "").Replace(mqttPlug)
	if read(t, file) != want {
		t.Errorf("%q, want %q", read(t, file), want)
	}
	for name, fields := range map[string]map[string]string{
		"unknown key": {"port": "1"}, "the driver": {"driver": "sim-bulb"}, "the area": {"area": "x"}, "a mapping": {"with": "x"}, "two lines": {"broker": "a\nb"},
	} {
		if _, err := s.Change(t.Context(), "plug", fields); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if r, err := s.Change(t.Context(), "plug", map[string]string{"broker": "nowhere"}); err != nil || len(r.(setup.Result).Problems) == 0 {
		t.Errorf("%+v %v", r, err)
	}
	if read(t, file) != want || len(p.replaced) != 1 {
		t.Errorf("the file is %q", read(t, file))
	}
}

// Numbers and truth values keep their kinds.
func TestChangeKeepsKinds(t *testing.T) {
	_, s, file := newSetup(t, "devices:\n  stove: {driver: sim-meter, line: stove, class: oven, watts: 1800}\n")
	if _, err := s.Change(t.Context(), "stove", map[string]string{"watts": "2000.5"}); err != nil || !strings.Contains(read(t, file), "watts: 2000.5}") {
		t.Error(err, read(t, file))
	}
	if _, err := s.Change(t.Context(), "stove", map[string]string{"watts": "much"}); err == nil {
		t.Error("a word was accepted for a number")
	}
}

func TestOfDevice(t *testing.T) {
	_, s, file := newSetup(t, lamp)
	r, err := s.Test(t.Context(), "lamp")
	if is := r.(setup.TestResult); err != nil || !is.OK || is.Text != "lamp is on" || is.At.IsZero() || is.Took < 0 {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := s.Test(t.Context(), "none"); err == nil {
		t.Error("an unknown device was tested")
	}
	if read(t, file) != lamp {
		t.Error("the test changed the file")
	}
}

// A device is hidden and shown again. It keeps running, and only its own line changes.
func TestHide(t *testing.T) {
	p, s, file := newSetup(t, lamp)
	for _, hidden := range []bool{true, false} {
		if _, err := s.Hide(t.Context(), "lamp", hidden); err != nil || p.c.Opened.Device("lamp").Hidden != hidden {
			t.Fatal(err, p.c.Opened.Device("lamp").Hidden)
		}
		want := lamp
		if hidden {
			want = strings.Replace(lamp, "sim-bulb,", "sim-bulb, hidden: true,", 1)
		}
		if read(t, file) != want {
			t.Errorf("%q, want %q", read(t, file), want)
		}
	}
	if !slices.Equal(p.described, []string{"lamp", "lamp"}) || len(p.replaced) != 0 {
		t.Errorf("described %q, replaced %q", p.described, p.replaced)
	}
	if _, err := s.Hide(t.Context(), "none", true); err == nil {
		t.Error("an unknown device was hidden")
	}
}
