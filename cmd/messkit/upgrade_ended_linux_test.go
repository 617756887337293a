package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A stop, a lockout, a disarmed class, a used budget and an archived thread of an earlier release
// count under today's messkit. The acts of the fixture have a time in the future, and such an act
// counts as done now.
func TestUpgradeOfStoppedSystem(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes for some seconds")
	}
	s := unpackSystem(t, "ended")
	s.start()
	s.checkThreads()
	rejected := func(intent, reason string) {
		t.Helper()
		if text := s.ask("operator", intent); !strings.Contains(text, `"type":"`+reason+`"`) {
			t.Errorf("%s: want the reason %s: %s", intent, reason, text)
		}
	}
	rejected("turn on the hall light", "stop")
	if err := s.proc.stop(); err != nil {
		t.Fatal(err)
	}
	s.start()
	rejected("turn on the hall light", "stop")

	url := strings.TrimSuffix(s.proc.url, "/api/v1/exchanges/home")
	if out, err := runAtTerminal(t, s.dir, url, map[string]string{"[y/N] ": "y\n"}, "clear", "--data", "data"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.waitFor("the stop is reset", func() bool {
		_, said := s.call("operator", http.MethodGet, "/status", "")
		return !strings.Contains(said, "smoke")
	})
	rejected("turn on the hall light", "locked")
	rejected("turn on the kitchen light", "max_acts")
	rejected("vacuum the living room", "disarmed")
	if text := s.ask("operator", "turn on the porch light"); !strings.Contains(text, `"evidence":"read_back"`) {
		t.Errorf("a device that nothing keeps back: %s", text)
	}
	s.ask("operator", "turn off the porch light") // else its watchdog stays until the time on is over
	s.messkit("journal", "check", "--data", "data")
}

// Today's messkit accepts each configuration of an earlier release's documentation, and knows each
// of its keys.
func TestUpgradeAcceptsConfigurations(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process for each configuration")
	}
	t.Chdir(unpackFixture(t, "configs"))
	t.Setenv("HOME", t.TempDir())
	names, err := filepath.Glob("*.yaml")
	if err != nil || len(names) < 30 {
		t.Fatalf("there are %d configurations: %v", len(names), err)
	}
	for _, name := range names {
		if out, err := exec.CommandContext(t.Context(), "messkit", "check", name).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}

	want, err := os.ReadFile("keys/known")
	if err != nil {
		t.Fatal(err)
	}
	names, err = filepath.Glob("keys/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, name := range names {
		out, err := exec.CommandContext(t.Context(), "messkit", "check", name).CombinedOutput()
		if err == nil {
			t.Errorf("%s: accepts an unknown key", name)
		}
		got.Write(out)
	}
	known, old := knownKeys(got.String()), knownKeys(string(want))
	if len(old) < 60 {
		t.Fatalf("the fixture names the keys of %d places", len(old))
	}
	for at, keys := range old {
		for _, key := range keys {
			if !slices.Contains(known[at], key) {
				t.Errorf("%s.%s: an earlier release knew the key; today: %q", at, key, known[at])
			}
		}
	}
}

var unknownKey = regexp.MustCompile(`(?m)^(?:messkit: error: )?\S+: (\S+)\.zzz: unknown key.*?; known keys: (.*)$`)

// knownKeys reads the errors about the key zzz: the known keys by the path of their parent.
func knownKeys(errors string) map[string][]string {
	known := map[string][]string{}
	for _, m := range unknownKey.FindAllStringSubmatch(errors, -1) {
		known[m[1]] = regexp.MustCompile(`[a-z_0-9]+`).FindAllString(m[2], -1)
	}
	return known
}
