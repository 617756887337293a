package setup_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/config/edit"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/daemon/setup"
)

// program is a program with a configuration, without an executor.
type program struct {
	*testing.T
	c         *config.Config
	added     []string
	removed   []string
	replaced  []string
	described []string
	fail      error // of Apply
	busy      error // of InUse
	wired     bool  // devices need a restart
}

func (p *program) Config() *config.Config { return p.c }

func (p *program) Load(name string, text []byte) (*config.Config, error) {
	return daemon.LoadText(name, text, slog.New(slog.DiscardHandler))
}

func (p *program) Apply(_ context.Context, c setup.Change) error {
	if p.fail != nil {
		return p.fail
	}
	p.c = c.Next
	for list, one := range map[*[]string]string{&p.added: c.Added, &p.removed: c.Removed, &p.replaced: c.Replaced} {
		if one != "" {
			*list = append(*list, one)
		}
	}
	p.described = append(p.described, c.Described...)
	return nil
}

func (p *program) Test(_ context.Context, device string) (setup.TestResult, error) {
	return setup.TestResult{OK: true, Text: device + " is on"}, p.busy
}

func (p *program) InUse(context.Context, string) error { return p.busy }

func (p *program) NeedsRestart(config.Device) string {
	if p.wired {
		return "it is wired"
	}
	return ""
}

const lamp = "devices:\n  lamp: {driver: sim-bulb, area: hall} # by the door\n"

// newSetup returns a Setup of a program with a configuration file.
func newSetup(t *testing.T, text string) (*program, *setup.Setup, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "messkit.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &program{T: t}
	var err error
	if p.c, err = p.Load(file, []byte(text)); err != nil {
		t.Fatal(err)
	}
	p.c.Agent.Data = filepath.Dir(file)
	return p, setup.New(p, slog.New(slog.DiscardHandler)), file
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// save saves a text over the present one.
func save(t *testing.T, s *setup.Setup, file, text string) (setup.Result, error) {
	t.Helper()
	r, err := s.Save(t.Context(), text, edit.Revision([]byte(read(t, file))))
	if err != nil {
		return setup.Result{}, err
	}
	return r.(setup.Result), nil
}

func TestSaveSaysWhatNeedsRestart(t *testing.T) {
	const together = ": several devices change at once"
	for name, c := range map[string]struct {
		text                                string
		restart                             []string
		added, removed, replaced, described []string
		wired                               bool
	}{
		"nothing":       {text: lamp},
		"comment":       {text: "# mine\n" + lamp},
		"one device":    {text: lamp + "  second: {driver: sim-bulb, area: hall}\n", added: []string{"second"}},
		"wired device":  {text: lamp + "  second: {driver: sim-bulb, area: hall}\n", wired: true, restart: []string{"devices.second: it is wired"}},
		"two devices":   {text: lamp + "  b: {driver: sim-bulb, area: hall}\n  c: {driver: sim-bulb, area: hall}\n", restart: []string{"devices.b" + together, "devices.c" + together}},
		"name and area": {text: "devices:\n  lamp: {driver: sim-bulb, label: Night light, area: porch}\n", described: []string{"lamp"}},
		"other limits":  {text: "devices:\n  lamp: {driver: sim-bulb, area: hall, limits: {min_interval: 5s}}\n", replaced: []string{"lamp"}},
		"other driver":  {text: "devices:\n  lamp: {driver: sim-plug, line: fan, class: fan, area: hall}\n", replaced: []string{"lamp"}},
		"wired change":  {text: "devices:\n  lamp: {driver: sim-plug, line: fan, class: fan, area: hall}\n", wired: true, restart: []string{"devices.lamp: it is wired"}},
		"removed":       {text: "devices: {}\n", removed: []string{"lamp"}},
		"wired removal": {text: "devices: {}\n", wired: true, restart: []string{"devices.lamp: it is wired"}},
		"other name":    {text: "devices: {other: {driver: sim-bulb}}\n", restart: []string{"devices.lamp" + together, "devices.other" + together}},
		"executor":      {text: lamp + "agent: {name: Pi}\n", restart: []string{"agent"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, s, file := newSetup(t, lamp)
			p.wired = c.wired
			r, err := save(t, s, file, c.text)
			if err != nil || len(r.Problems) > 0 {
				t.Fatal(err, r)
			}
			if d := cmp.Diff(append([]string{}, c.restart...), r.Restart); d != "" {
				t.Errorf("restart: %s", d)
			}
			if d := cmp.Diff([][]string{c.added, c.removed, c.replaced, c.described}, [][]string{p.added, p.removed, p.replaced, p.described}); d != "" {
				t.Errorf("added, removed, replaced, described: %s", d)
			}
			if read(t, file) != c.text {
				t.Errorf("the file is %q", read(t, file))
			}
			if gone := p.c.Opened.Device("lamp") == nil; gone != (len(c.removed) > 0) {
				t.Errorf("the program has no lamp: %v", gone)
			}
		})
	}
}

// A device whose change waits for a restart keeps its present state, and a later save still says that it
// waits.
func TestRestartStaysPending(t *testing.T) {
	p, s, file := newSetup(t, lamp)
	p.wired = true
	for range 2 {
		r, err := save(t, s, file, strings.Replace(lamp, "area: hall", "area: hall, limits: {min_interval: 5s}", 1))
		if err != nil || !slices.Equal(r.Restart, []string{"devices.lamp: it is wired"}) || p.c.Opened.Device("lamp").Limits.MinInterval != 0 {
			t.Errorf("%+v %v", r, err)
		}
	}
}

func TestTextWithProblemsIsNotSaved(t *testing.T) {
	p, s, file := newSetup(t, lamp)
	r, err := save(t, s, file, lamp+"  second: {driver: sim-blub}\n")
	if err != nil || len(r.Problems) != 1 || r.Problems[0].Line != 3 || r.Problems[0].Path != "devices.second.driver" || !strings.Contains(r.Problems[0].Text, "sim-bulb") {
		t.Errorf("%+v %v", r, err)
	}
	if read(t, file) != lamp || len(edit.Backups(file)) != 0 || len(p.added) != 0 {
		t.Error("the text was saved")
	}
}

// If the device does not start, the file and the configuration in use are as before.
func TestFailedStartChangesNothing(t *testing.T) {
	p, s, file := newSetup(t, lamp)
	p.fail = errors.New("second: no answer")
	before := p.c
	if _, err := save(t, s, file, lamp+"  second: {driver: sim-bulb, area: hall}\n"); err == nil || !strings.Contains(err.Error(), "nothing was changed: second: no answer") {
		t.Error(err)
	}
	if read(t, file) != lamp || p.c != before {
		t.Errorf("the file is %q", read(t, file))
	}
}

func TestSaveRefusesOldRevision(t *testing.T) {
	p, s, file := newSetup(t, lamp)
	if _, err := s.Save(t.Context(), lamp+"  second: {driver: sim-bulb, area: hall}\n", "old"); !errors.Is(err, edit.ErrChanged) {
		t.Error(err)
	}
	if read(t, file) != lamp || len(p.added) != 0 {
		t.Error("the file was changed")
	}
}

func TestDescribe(t *testing.T) {
	p, s, file := newSetup(t, lamp)
	if _, err := s.Describe(t.Context(), "lamp", " Night light ", ""); err != nil {
		t.Fatal(err)
	}
	if want := "devices:\n  lamp: {driver: sim-bulb, label: Night light} # by the door\n"; read(t, file) != want {
		t.Errorf("%q, want %q", read(t, file), want)
	}
	if d := p.c.Opened.Device("lamp"); d.Label != "Night light" || d.Area != "" || !slices.Equal(p.described, []string{"lamp"}) {
		t.Errorf("%+v", d.DeviceConfig)
	}
	if _, err := s.Describe(t.Context(), "lamp", "lamp", "hall"); err != nil || read(t, file) != lamp {
		t.Errorf("%q %v", read(t, file), err)
	}
	for _, wrong := range []string{"two\nlines", strings.Repeat("x", 101)} {
		if _, err := s.Describe(t.Context(), "lamp", wrong, ""); err == nil || read(t, file) != lamp {
			t.Errorf("%q was accepted", wrong)
		}
	}
	if _, err := s.Describe(t.Context(), "none", "x", ""); err == nil {
		t.Error("an unknown device was described")
	}
}

func TestAddNeedsFoundDevice(t *testing.T) {
	_, s, file := newSetup(t, lamp)
	for _, name := range []string{"", "Desk plug"} {
		if _, err := s.Add(t.Context(), "plug", name, ""); err == nil || read(t, file) != lamp {
			t.Errorf("%q: a device that was not found was added", name)
		}
	}
}

func TestWrongBrokerStartsNoSearch(t *testing.T) {
	_, s, _ := newSetup(t, lamp)
	for _, address := range []string{"http://x", "mqtt://user:secret@x", "://", "a b"} {
		if err := s.Find(address, "", ""); err == nil || s.Found().(setup.Findings).Running {
			t.Errorf("%q was accepted", address)
		}
	}
	if f := s.Found().(setup.Findings); !slices.Equal(f.Areas, []string{"hall"}) || len(f.Devices) != 0 {
		t.Errorf("%+v", f)
	}
}

// A program without a configuration file begins one in its data folder, with the built-in text.
func TestFileBegins(t *testing.T) {
	p := &program{T: t}
	var err error
	if p.c, err = p.Load("", config.SimulatedHome); err != nil {
		t.Fatal(err)
	}
	p.c.File, p.c.Agent.Data = "", t.TempDir()
	s := setup.New(p, slog.New(slog.DiscardHandler))
	d, err := s.Document()
	file := filepath.Join(p.c.Agent.Data, "messkit.yaml")
	if doc := d.(setup.Document); err != nil || doc.Exists || doc.Text != string(config.SimulatedHome) || doc.File != file || config.StartedIn(p.c.Agent.Data) != "" {
		t.Fatalf("%+v %v", d, err)
	}
	if _, err := s.Describe(t.Context(), "stove", "Cooker", "kitchen"); err != nil {
		t.Fatal(err)
	}
	if text := read(t, file); !strings.Contains(text, "label: Cooker") || config.StartedIn(p.c.Agent.Data) != file {
		t.Error(text)
	}
}

// The quiet hours of the policy stand in the file, with its comments and a backup, and need a restart.
func TestQuietHours(t *testing.T) {
	const own = "  heater: {driver: sim-plug, class: heater, limits: {quiet_hours: 01:00-02:00, max_on: 1h}}\n"
	_, s, file := newSetup(t, lamp+own)
	quiet := func() setup.Quiet {
		t.Helper()
		q, err := s.Quiet()
		if err != nil {
			t.Fatal(err)
		}
		return q.(setup.Quiet)
	}
	if d := cmp.Diff(setup.Quiet{Devices: map[string]string{"heater": "01:00-02:00"}}, quiet()); d != "" {
		t.Error(d)
	}
	r, err := s.SetQuiet(t.Context(), "22:30-06:00")
	if err != nil || r.(setup.Result).Backup == "" || !slices.Equal(r.(setup.Result).Restart, []string{"agent"}) {
		t.Fatalf("%+v, %v", r, err)
	}
	if text := read(t, file); text != lamp+own+"\nagent:\n  limits:\n    quiet_hours: \"22:30-06:00\"\n" {
		t.Errorf("the file is %q", text)
	}
	if q := quiet(); q.Hours != "22:30-06:00" || q.InUse != "" {
		t.Errorf("before the restart: %+v", q)
	}
	for _, bad := range []string{"22:00", "25:00-06:00", "06:00-06:00", "06:00-07:00\nx: 1"} {
		if r, err := s.SetQuiet(t.Context(), bad); err == nil {
			t.Errorf("%q: %+v", bad, r)
		}
	}
	if _, err := s.SetQuiet(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if q := quiet(); q.Hours != "" || !strings.HasPrefix(read(t, file), lamp+own) {
		t.Errorf("%+v, %q", q, read(t, file))
	}
}

// Each problem of a text has its place, so that an editor leads there.
func TestCheckNamesPlaces(t *testing.T) {
	_, s, _ := newSetup(t, lamp)
	data, err := json.Marshal(s.Check(lamp + "  küche: {driver: sim-bulb, arae: hall}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Problems []setup.Problem }
	if err := json.Unmarshal(data, &got); err != nil || len(got.Problems) != 2 || got.Problems[1].Line != 3 || got.Problems[1].Column != 29 {
		t.Errorf("%v in %s, want the second at line 3, column 29", err, data)
	}
}
