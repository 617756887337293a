package interpret_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// sentencesDir is the folder with sentences of the NLU-Evaluation-Data set.
const sentencesDir = "../../cmd/messkit/testdata/intents"

// mislabeled are sentences that the data set has under another intent than their words say.
var mislabeled = []string{"lights out", "turn out the lights"}

type spoken struct {
	Intent string `json:"intent"`
	Text   string `json:"text"`
}

func sentences(t *testing.T, name string) []spoken {
	t.Helper()
	f, err := os.Open(filepath.Join(sentencesDir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []spoken
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var s spoken
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		t.Fatalf("%s has no sentences", name)
	}
	return list
}

// mansion is a home with one device for most requests.
func mansion() capabilities.Home {
	h := capabilities.Home{}
	add := func(name, class, area string, commands ...capabilities.Command) {
		h.Devices = append(h.Devices, capabilities.Device{Name: name, Class: class, Area: area, Commands: commands})
	}
	for _, room := range []string{"kitchen", "living room", "bedroom", "bathroom", "hall", "office", "garage", "balcony"} {
		add(strings.ReplaceAll(room, " ", "-")+"-light", "light", room, capabilities.SetSwitch, capabilities.ReadState)
	}
	add("wemo", "plug", "living room", capabilities.SetSwitch, capabilities.ReadState)
	add("fan", "fan", "bedroom", capabilities.SetSwitch)
	add("tv", "tv", "living room", capabilities.SetSwitch)
	add("front-cam", "camera", "hall", capabilities.TakePhoto)
	add("thermometer", "thermometer", "living room", capabilities.ReadState)
	add("robot", "vacuum", "", capabilities.Clean, capabilities.Dock)
	for _, room := range []string{"kitchen", "living room", "dining room", "bedroom", "hallway"} {
		robot := &h.Devices[len(h.Devices)-1]
		robot.WorkAreas = append(robot.WorkAreas, capabilities.WorkArea{Name: room, Room: room})
	}
	return h
}

func TestOtherSentencesMoveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("calculates for some seconds")
	}
	r := interpret.New(catalog.Default(), mansion())
	all, asked, read := sentences(t, "dev-other.jsonl"), 0, 0
	for _, s := range all {
		switch o := r.Resolve(ask(s.Text)); {
		case o.Plan != nil && o.Plan.Actuates():
			t.Errorf("%s: %q would %s", s.Intent, s.Text, o.Plan.Summary)
		case o.Plan != nil:
			t.Logf("%s: %q would %s", s.Intent, s.Text, o.Plan.Summary)
			read++
		case o.Question != nil:
			t.Logf("%s: %q asks %s", s.Intent, s.Text, o.Question.Text)
			asked++
		}
	}
	t.Logf("of %d sentences about other things: 0 acted on, %d asked about, %d read", len(all), asked, read)
}

func TestRecall(t *testing.T) {
	want := map[string]string{
		"iot_cleaning": "vacuum-floor", "iot_hue_lighton": "switch-on", "iot_hue_lightoff": "switch-off",
		"iot_wemo_on": "switch-on", "iot_wemo_off": "switch-off",
	}
	r := interpret.New(catalog.Default(), mansion())
	count := map[string]int{}
	for _, s := range sentences(t, "dev-iot.jsonl") {
		o, verdict := r.Resolve(ask(s.Text)), "refused"
		switch {
		case o.Plan != nil && o.Plan.Actuates() && o.Plan.Capability != want[s.Intent]:
			verdict = "wrong"
			if !slices.Contains(mislabeled, s.Text) {
				t.Errorf("%s: %q would %s", s.Intent, s.Text, o.Plan.Summary)
			}
		case o.Plan != nil:
			verdict = "planned"
		case o.Question != nil:
			verdict = "asked"
		case want[s.Intent] != "":
			t.Logf("refused: %s: %q: %s", s.Intent, s.Text, o.Refusal.Reason)
		}
		if want[s.Intent] != "" || verdict != "refused" {
			count[s.Intent+" "+verdict]++
		}
	}
	t.Log(count)
}

func TestRepliesToConfirmations(t *testing.T) {
	count := map[string]int{}
	for _, s := range sentences(t, "dev-other.jsonl") {
		yes, no, stop := catalog.MatchYesNo(s.Text)
		switch {
		case yes && s.Intent != "general_affirm" && s.Intent != "general_confirm":
			t.Errorf("%s: %q counts as yes", s.Intent, s.Text)
		case yes:
			count[s.Intent+" yes"]++
		case stop:
			count[s.Intent+" stop"]++
		case no:
			count[s.Intent+" no"]++
		}
	}
	t.Log(count)
}
