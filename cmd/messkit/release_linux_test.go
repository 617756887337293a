package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/agent/stop"
)

// setRestrictions stops a system, and sets a lockout and disarms a risk class there.
func (s *shellSession) setRestrictions() {
	s.t.Helper()
	for _, args := range [][]string{{"lock", "porch-light"}, {"disarm", "motion"}, {"stop", "--why", "smoke"}} {
		if out, err := s.run("", args...); err != nil {
			s.t.Fatalf("%q: %v %s", args, err, out)
		}
	}
	s.wantRestrictions("at first")
}

func (s *shellSession) wantRestrictions(after string) {
	s.t.Helper()
	data := filepath.Join(s.home, ".mess")
	l := localpolicy.In(data).Decisions()
	if _, locked := l.LockedOut["porch-light"]; !locked || len(l.Disarmed) == 0 || len(stop.ReadOrders(filepath.Join(data, "stop"))) == 0 {
		s.t.Errorf("%s: %+v", after, l)
	}
}

// releaseCommands lists the commands that let everything act again.
var releaseCommands = [][]string{{"clear"}, {"unlock", "porch-light"}, {"arm", "motion"}}

// tryReleases has the model try every way to let something act again. Every attempt must fail.
func (s *shellSession) tryReleases() {
	s.t.Helper()
	for _, args := range append(slices.Clone(releaseCommands), []string{"clear", "--anyway"}, []string{"arm"}, []string{"arm", "--reset"}, []string{"clear", "--code", "000000"}, []string{"arm", "--code", "000000"}) {
		out, err := s.run("y\ny\ny\n", args...)
		if err == nil || !strings.Contains(out, "nothing was changed") && !strings.Contains(out, "not the code") {
			s.t.Errorf("%q in a pipe: %v %s", args, err, out)
		}
		s.wantRestrictions(strings.Join(args, " "))
	}
	byKey := newBrowser(s.t)
	if code, got := s.call(byKey, http.MethodPost, "/console/session", `{"key": "`+s.key+`"}`); code != http.StatusOK {
		s.t.Fatal(got)
	}
	for _, b := range []*http.Client{nil, byKey} {
		for _, c := range [][2]string{{"/console/release", `{"anyway": true}`}, {"/console/arm", `{"do": "arm"}`}, {"/console/arm", `{"do": "unlock", "what": "porch-light"}`}} {
			code, got := s.call(b, http.MethodPost, c[0], c[1])
			if code != http.StatusForbidden {
				s.t.Errorf("%s: %d %s", c[0], code, got)
			}
			s.wantRestrictions(c[0])
		}
		if code, got := s.call(b, http.MethodPost, "/console/code", `{}`); code < 300 {
			s.t.Errorf("the code: %s", got)
		}
	}
}

func (s *shellSession) wantReleased(after string) {
	s.t.Helper()
	data := filepath.Join(s.home, ".mess")
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if l := localpolicy.In(data).Decisions(); len(l.LockedOut)+len(l.Disarmed)+len(stop.ReadOrders(filepath.Join(data, "stop"))) == 0 {
			return
		}
	}
	s.t.Errorf("%s: it is not released", after)
}

// A program without a terminal cannot reset a stop, arm a risk class or release a lockout. A
// person can do it at a terminal or on the page, depending on the confirm setting.
func TestProgramWithoutTerminalReleasesNothing(t *testing.T) {
	s := startWithQuestion(t)
	s.setRestrictions()
	s.tryReleases()
	for _, args := range releaseCommands {
		if out, err := runAtTerminal(t, s.home, s.url, map[string]string{"[y/N] ": "n\n"}, args...); err == nil || !strings.Contains(out, "nothing was changed") {
			t.Errorf("a no to %q: %v %s", args, err, out)
		}
	}
	s.wantRestrictions("a no")
	for _, args := range releaseCommands {
		if out, err := runAtTerminal(t, s.home, s.url, map[string]string{"[y/N] ": "y\n"}, args...); err != nil {
			t.Errorf("%q at a terminal: %v %s", args, err, out)
		}
	}
	s.wantReleased("at a terminal")

	s = startWithQuestion(t, "--confirm", "page")
	s.setRestrictions()
	s.tryReleases()
	for _, args := range releaseCommands {
		if out, err := runAtTerminal(t, s.home, s.url, map[string]string{"[y/N] ": "y\n"}, args...); err == nil || !strings.Contains(out, "(exchange: confirm: page)") || !strings.Contains(out, "hint: messkit console") {
			t.Errorf("%q at a terminal under page: %v %s", args, err, out)
		}
	}
	s.wantRestrictions("a terminal under page")
	b := s.signIn()
	for _, c := range [][2]string{{"/console/release", `{}`}, {"/console/arm", `{"do": "arm"}`}, {"/console/arm", `{"do": "unlock", "what": "porch-light"}`}} {
		if code, got := s.call(b, http.MethodPost, c[0], c[1]); code != http.StatusOK {
			t.Errorf("%s on the page: %s", c[0], got)
		}
	}
	s.wantReleased("on the page")

	s = startWithQuestion(t, "--confirm", "code")
	s.setRestrictions()
	s.tryReleases()
	b = s.signIn()
	for _, args := range releaseCommands {
		_, got := s.call(b, http.MethodPost, "/console/code", `{}`)
		var shown struct{ Code string }
		if err := json.Unmarshal([]byte(got), &shown); err != nil || len(shown.Code) != 6 {
			t.Fatalf("%v %s", err, got)
		}
		if out, err := s.run("", append(args, "--code", shown.Code)...); err != nil {
			t.Errorf("%q with the code: %v %s", args, err, out)
		}
	}
	s.wantReleased("with codes")

	s = startWithQuestion(t, "--confirm", "script")
	s.setRestrictions()
	for _, args := range releaseCommands {
		if out, err := s.run("", args...); err != nil {
			t.Errorf("%q under script: %v %s", args, err, out)
		}
	}
	s.wantReleased("under script")
}
