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

// kept stops a system, and sets a lockout and disarms a risk class there.
func (s *shellOf) kept() {
	s.t.Helper()
	for _, args := range [][]string{{"lock", "porch-light"}, {"disarm", "motion"}, {"stop", "--why", "smoke"}} {
		if out, err := s.run("", args...); err != nil {
			s.t.Fatalf("%q: %v %s", args, err, out)
		}
	}
	s.stillKept("at first")
}

func (s *shellOf) stillKept(after string) {
	s.t.Helper()
	data := filepath.Join(s.home, ".mess")
	l := localpolicy.In(data).Decisions()
	if _, locked := l.LockedOut["porch-light"]; !locked || len(l.Disarmed) == 0 || len(stop.ReadOrders(filepath.Join(data, "stop"))) == 0 {
		s.t.Errorf("%s: %+v", after, l)
	}
}

// letAgain lists the commands that let everything act again.
var letAgain = [][]string{{"clear"}, {"unlock", "porch-light"}, {"arm", "motion"}}

// frees has the model try every way to let something act again. Every attempt must fail.
func (s *shellOf) frees() {
	s.t.Helper()
	for _, args := range append(slices.Clone(letAgain), []string{"clear", "--anyway"}, []string{"arm"}, []string{"arm", "--reset"}, []string{"clear", "--code", "000000"}, []string{"arm", "--code", "000000"}) {
		out, err := s.run("y\ny\ny\n", args...)
		if err == nil || !strings.Contains(out, "nothing was changed") && !strings.Contains(out, "not the code") {
			s.t.Errorf("%q in a pipe: %v %s", args, err, out)
		}
		s.stillKept(strings.Join(args, " "))
	}
	byKey := browserOf(s.t)
	if code, said := s.call(byKey, http.MethodPost, "/console/session", `{"key": "`+s.key+`"}`); code != http.StatusOK {
		s.t.Fatal(said)
	}
	for _, b := range []*http.Client{nil, byKey} {
		for _, c := range [][2]string{{"/console/release", `{"anyway": true}`}, {"/console/arm", `{"do": "arm"}`}, {"/console/arm", `{"do": "unlock", "what": "porch-light"}`}} {
			code, said := s.call(b, http.MethodPost, c[0], c[1])
			if code != http.StatusForbidden {
				s.t.Errorf("%s: %d %s", c[0], code, said)
			}
			s.stillKept(c[0])
		}
		if code, said := s.call(b, http.MethodPost, "/console/code", `{}`); code < 300 {
			s.t.Errorf("the code: %s", said)
		}
	}
}

func (s *shellOf) isFree(after string) {
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
	s := waits(t)
	s.kept()
	s.frees()
	for _, args := range letAgain {
		if out, err := atTerminal(t, s.home, s.url, map[string]string{"[y/N] ": "n\n"}, args...); err == nil || !strings.Contains(out, "nothing was changed") {
			t.Errorf("a no to %q: %v %s", args, err, out)
		}
	}
	s.stillKept("a no")
	for _, args := range letAgain {
		if out, err := atTerminal(t, s.home, s.url, map[string]string{"[y/N] ": "y\n"}, args...); err != nil {
			t.Errorf("%q at a terminal: %v %s", args, err, out)
		}
	}
	s.isFree("at a terminal")

	s = waits(t, "--confirm", "page")
	s.kept()
	s.frees()
	for _, args := range letAgain {
		if out, err := atTerminal(t, s.home, s.url, map[string]string{"[y/N] ": "y\n"}, args...); err == nil || !strings.Contains(out, "(exchange: confirm: page)") || !strings.Contains(out, "hint: messkit console") {
			t.Errorf("%q at a terminal under page: %v %s", args, err, out)
		}
	}
	s.stillKept("a terminal under page")
	b := s.page()
	for _, c := range [][2]string{{"/console/release", `{}`}, {"/console/arm", `{"do": "arm"}`}, {"/console/arm", `{"do": "unlock", "what": "porch-light"}`}} {
		if code, said := s.call(b, http.MethodPost, c[0], c[1]); code != http.StatusOK {
			t.Errorf("%s on the page: %s", c[0], said)
		}
	}
	s.isFree("on the page")

	s = waits(t, "--confirm", "code")
	s.kept()
	s.frees()
	b = s.page()
	for _, args := range letAgain {
		_, said := s.call(b, http.MethodPost, "/console/code", `{}`)
		var shown struct{ Code string }
		if err := json.Unmarshal([]byte(said), &shown); err != nil || len(shown.Code) != 6 {
			t.Fatalf("%v %s", err, said)
		}
		if out, err := s.run("", append(args, "--code", shown.Code)...); err != nil {
			t.Errorf("%q with the code: %v %s", args, err, out)
		}
	}
	s.isFree("with codes")

	s = waits(t, "--confirm", "script")
	s.kept()
	for _, args := range letAgain {
		if out, err := s.run("", args...); err != nil {
			t.Errorf("%q under script: %v %s", args, err, out)
		}
	}
	s.isFree("under script")
}
