package mess_test

import (
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/mess"
)

var parties = map[byte]mess.Party{'e': mess.ByExecutor, 'r': mess.ByRequester, 'x': mess.ByExchange}

// machine reads testdata/transitions.txt: from, to, and parties (some of e, r, x).
func machine(t *testing.T) map[mess.Code]map[mess.Code]string {
	t.Helper()
	text, err := os.ReadFile("testdata/transitions.txt")
	if err != nil {
		t.Fatal(err)
	}
	m := map[mess.Code]map[mess.Code]string{}
	for line := range strings.Lines(string(text)) {
		from, steps, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		m[mess.Code(from)] = map[mess.Code]string{}
		for step := range strings.FieldsSeq(steps) {
			to, who, _ := strings.Cut(step, "=")
			m[mess.Code(from)][mess.Code(to)] = who
		}
	}
	if len(m) != 16 {
		t.Fatalf("%d statuses in transitions.txt, want 16", len(m))
	}
	return m
}

func TestEveryStepOfEveryParty(t *testing.T) {
	m := machine(t)
	for from := range m {
		for to := range m {
			for letter, who := range parties {
				want := strings.IndexByte(m[from][to], letter) >= 0
				err := mess.Step(from, to, who)
				if got := err == nil; got != want {
					t.Errorf("Step(%s, %s, %s) = %v, want allowed: %t", from, to, who, err, want)
				}
				if err != nil {
					checkRefusedStep(t, from, to, who, err)
				}
			}
		}
	}
}

func checkRefusedStep(t *testing.T, from, to mess.Code, who mess.Party, err error) {
	t.Helper()
	e, ok := errors.AsType[*mess.TransitionError](err)
	if !ok {
		t.Fatalf("Step(%s, %s, %s): the error is a %T", from, to, who, err)
	}
	want := &mess.TransitionError{From: from, To: to, By: who, Legal: from.Next(who)}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("Step(%s, %s, %s): (-want +got)\n%s", from, to, who, diff)
	}
	for _, word := range []string{string(from), string(to), who.String()} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not name %s", err, word)
		}
	}
}

func TestNextListsTheOpenSteps(t *testing.T) {
	for from, steps := range machine(t) {
		for letter, who := range parties {
			var want []mess.Code
			for _, to := range slices.Sorted(maps.Keys(steps)) {
				if strings.IndexByte(steps[to], letter) >= 0 {
					want = append(want, to)
				}
			}
			if diff := cmp.Diff(want, from.Next(who)); diff != "" {
				t.Errorf("%s.Next(%s): (-want +got)\n%s", from, who, diff)
			}
		}
	}
}

func TestUnknownStatusesHaveNoSteps(t *testing.T) {
	for _, odd := range []mess.Code{"", "received", "done", "Claimed", "in-progress"} {
		for _, who := range parties {
			if mess.Step(odd, mess.Claimed, who) == nil || mess.Step(mess.Claimed, odd, who) == nil {
				t.Errorf("%q: a step to or from it is allowed to the %s", odd, who)
			}
		}
		if odd.Known() || odd.Terminal() {
			t.Errorf("%q: known %t, terminal %t", odd, odd.Known(), odd.Terminal())
		}
	}
	if mess.Step(mess.Claimed, mess.Completed, 0) == nil {
		t.Error("a step without a party is allowed, want an error")
	}
}

func TestTerminal(t *testing.T) {
	for code, steps := range machine(t) {
		if got, want := code.Terminal(), len(steps) == 0; got != want {
			t.Errorf("%s.Terminal() = %t, want %t", code, got, want)
		}
		if !code.Known() {
			t.Errorf("%s is not known", code)
		}
	}
}

// Every status can reach a terminal one, and every non-terminal status can become
// cancelled.
func TestNoThreadIsStuck(t *testing.T) {
	for code := range machine(t) {
		if code.Terminal() {
			continue
		}
		if err := mess.Step(code, mess.Cancelled, mess.ByRequester); err != nil {
			t.Error(err)
		}
		if !slices.ContainsFunc(code.Next(mess.ByExecutor|mess.ByExchange), mess.Code.Terminal) {
			t.Errorf("%s: no way to an end without the requester", code)
		}
	}
}

// The diagram of section 9 contains only statuses of section 4.2.
func TestStatusesOfDiagramAreKnown(t *testing.T) {
	text := readAll(t, "testdata/vectors/1.0")["9-1.txt"]
	_, text, _ = strings.Cut(text, "\nrequest\n")
	names := 0
	for _, word := range regexp.MustCompile(`[a-z_]{4,}`).FindAllString(text, -1) {
		if slices.Contains([]string{"reply", "response", "delivered", "ther", "terminals"}, word) {
			continue
		}
		names++
		if _, err := mess.ParseCode(word); err != nil {
			t.Error(err)
		}
	}
	if names < 15 {
		t.Errorf("only %d statuses found in the diagram", names)
	}
}

func TestParseCode(t *testing.T) {
	for code := range machine(t) {
		for _, s := range []string{string(code), strings.ReplaceAll(string(code), "_", "-")} {
			if got, err := mess.ParseCode(s); got != code || err != nil {
				t.Errorf("ParseCode(%q) = %q, %v", s, got, err)
			}
		}
	}
	for s, want := range map[string]mess.Code{"received": mess.Received, "rejected": mess.Declined} {
		if got, err := mess.ParseCode(s); got != want || err != nil {
			t.Errorf("ParseCode(%q) = %q, %v, want %q", s, got, err, want)
		}
	}
	for _, s := range []string{"", " claimed", "claimed\n", "CLAIMED", "in progress", "inprogress", "finished", "*", strings.Repeat("x", 1<<20)} {
		got, err := mess.ParseCode(s)
		if got != "" || err == nil {
			t.Errorf("ParseCode(%.20q) = %q, %v, want an error", s, got, err)
		} else if !strings.Contains(err.Error(), "needs_input") || len(err.Error()) > 1000 {
			t.Errorf("ParseCode(%.20q): %v, want a short error that lists the codes", s, err)
		}
	}
}
