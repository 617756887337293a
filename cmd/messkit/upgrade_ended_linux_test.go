package main

import (
	"errors"
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
		_, body := s.call("operator", http.MethodGet, "/status", "")
		return !strings.Contains(body, "smoke")
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
	t.Run("documented", func(t *testing.T) {
		valid, failed := checkFiles(t, "*.yaml")
		if valid < 30 || failed != "" {
			t.Errorf("%d configurations are valid, want 30 or more\n%s", valid, failed)
		}
	})
	t.Run("keys", func(t *testing.T) {
		recorded, err := os.ReadFile("keys/known")
		if err != nil {
			t.Fatal(err)
		}
		_, failed := checkFiles(t, "keys/*.yaml")
		known, old := knownKeys(failed), knownKeys(string(recorded))
		if len(old) < 60 {
			t.Fatalf("the fixture names the keys of %d places", len(old))
		}
		for at, keys := range old {
			for _, key := range keys {
				if !slices.Contains(known[at], key) {
					t.Errorf("%s.%s: a key of an earlier release is missing; keys are %q", at, key, known[at])
				}
			}
		}
	})
}

// checkFiles runs messkit check on each file. It returns the number of valid ones, and the output
// about the others.
func checkFiles(t *testing.T, pattern string) (valid int, failed string) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		out, err := exec.CommandContext(t.Context(), "messkit", "check", name).CombinedOutput()
		var exit *exec.ExitError
		switch {
		case err == nil:
			valid++
		case errors.As(err, &exit):
			failed += string(out)
		default:
			t.Fatal(err)
		}
	}
	return valid, failed
}

var unknownKey = regexp.MustCompile(`(?m)^(?:messkit: error: )?\S+: (\S+)\.zzz: unknown key.*?; known keys: (.*)$`)

// knownKeys reads the errors about the key zzz: the known keys by the path of their parent.
func knownKeys(output string) map[string][]string {
	known := map[string][]string{}
	for _, m := range unknownKey.FindAllStringSubmatch(output, -1) {
		known[m[1]] = regexp.MustCompile(`[a-z_0-9]+`).FindAllString(m[2], -1)
	}
	return known
}
