package interpret_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// The error lists all mistakes in the files of a folder, each with the line of its subject.
func TestMistakesHaveLines(t *testing.T) {
	tree := fstest.MapFS{
		"a.yaml": {Data: []byte(`rules:
  bad: (open
colours:
  murky: brown
capabilities:
  - id: feed-fish
    description: feed the fish
    command: switsch
    args: { on: true }
    risk: low
    effect: once
    answer: command
    evidnce: read_back
    summary: feed
    sentences: ["feed (the fish", "{device}"]
  -
`)},
		"b.yaml": {Data: []byte(`capabilities:
  - id: feed-cat
    description: feed the cat
    command: switch
    args: { on: maybe }
    risk: comfort
    effect: twice
    answer: query
    parameters: [{name: x, type: date}]
    summary: feed
    sentences:
      - "feed [(a|the] cat"
      - "{device}"
      - "feed {beast}"
      - "<unknown> x"
    also:
      - quantity: warmth
        sentences: ["feed it"]
frames:
  - capability: nope
    all: [bogus]
classes: [1, 2]
`)},
	}
	_, err := catalog.Load(catalog.English(), catalog.WithPathInErrors(tree, "words"))
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	got := strings.Split(err.Error(), "\n")
	for _, want := range []string{
		`words/a.yaml:2: rule bad: `, `words/a.yaml:4: colours: murky: "brown" is no color`, `words/a.yaml:8: capability feed-fish: command "switsch" is unknown`,
		`words/a.yaml:10: capability feed-fish: risk "low"`, `words/a.yaml:13: capabilities[0].evidnce: unknown key (did you mean evidence?)`,
		`words/a.yaml:15: capability feed-fish: sentence "feed (the fish": `, `words/a.yaml:15: capability feed-fish: sentence "{device}": may be a bare name`,
		`words/b.yaml:5: capability feed-cat: args.on`, `words/b.yaml:7: capability feed-cat: effect "twice"`, `words/b.yaml:8: capability feed-cat: answer query does not go`,
		`words/b.yaml:9: capability feed-cat: parameters.x.type "date"`, `words/b.yaml:12: capability feed-cat: sentence "feed [(a|the] cat"`,
		`words/b.yaml:13: capability feed-cat: sentence "{device}"`, `words/b.yaml:14: capability feed-cat: sentence "feed {beast}": unknown slot`,
		`words/b.yaml:15: capability feed-cat: sentence "<unknown> x": rule`, `words/b.yaml:17: capability feed-cat: unknown quantity "warmth"`,
		`words/b.yaml:20: frames: number`, `words/b.yaml:21: frames: number`, `words/b.yaml:22: classes: is a list`,
	} {
		n := 0
		for _, line := range got {
			if strings.HasPrefix(line, want) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d lines begin with %q; want 1", n, want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}

	tree["c.yaml"] = &fstest.MapFile{Data: []byte("a: [\n")}
	if _, err := catalog.Load(catalog.English(), catalog.WithPathInErrors(tree, "words")); err == nil || !strings.Contains(err.Error(), "words/c.yaml:1: not YAML") {
		t.Errorf("a file that is no YAML: %v", err)
	}
}

// An entry of the folder of a user adds to the entries of messkit, or replaces one.
func TestEntriesAddToTheCatalog(t *testing.T) {
	tree := fstest.MapFS{"mine.yaml": {Data: []byte(`classes:
  light: [light, lamp, licht]
capabilities:
  - id: licht-an
    description: turn on a light, asked for in German
    command: switch
    args: { on: true }
    risk: comfort
    effect: idempotent
    classes: [light]
    answer: command
    summary: turn on the {device}
    sentences: ["mach das {device} an"]
  - id: unlock
    description: unlock something, which nobody may
    command: unlock
    risk: irreversible
    effect: idempotent
    classes: [lock]
    answer: command
    summary: unlock the {device}
    sentences: ["open sesame {device}"]
`)}}
	c, err := catalog.Load(catalog.English(), catalog.WithPathInErrors(tree, "words"))
	if err != nil {
		t.Fatal(err)
	}
	home := exampleHome()
	for i := range home.Devices {
		if home.Devices[i].Class == "lock" {
			home.Devices[i].Commands = append(home.Devices[i].Commands, capabilities.Unlock)
		}
	}
	r := interpret.New(c, home)
	if p := r.Resolve(ask("mach das porch light an")).Plan; p == nil || p.Capability != "licht-an" || p.Device != "porch-lamp" {
		t.Errorf("the German sentence is %+v", p)
	}
	if p := r.Resolve(ask("open sesame front door lock")).Plan; p == nil || p.Risk != capabilities.RiskIrreversible {
		t.Errorf("the new sentence of unlock is %+v", p)
	}
}
