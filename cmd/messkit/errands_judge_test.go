package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// judgement counts the contradictions between the threads and the logs of the valves. It shares
// no code with the program.
type judgement struct {
	asked, acts, unknown     int // requests; switch commands; terminal statuses with effect unknown
	late                     int // acts after the terminal status, which the thread announced as possible
	lost, doubled, dishonest int
	problems                 []string
}

func (v *judgement) found(kind *int, format string, args ...any) {
	*kind++
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

func (v *judgement) String() string {
	return fmt.Sprintf("%d requests, %d acts, %d ends of which nobody knows what was done; lost %d, doubled %d, dishonest %d",
		v.asked, v.acts, v.unknown, v.lost, v.doubled, v.dishonest)
}

// tell fails the test with the problems, ten at most.
func (v *judgement) tell(t *testing.T) {
	t.Helper()
	for _, problem := range v.problems[:min(len(v.problems), 10)] {
		t.Error(problem)
	}
}

func (v *judgement) add(w *judgement) {
	v.asked, v.acts, v.unknown = v.asked+w.asked, v.acts+w.acts, v.unknown+w.unknown
	v.lost, v.doubled, v.dishonest = v.lost+w.lost, v.doubled+w.doubled, v.dishonest+w.dishonest
	v.problems = append(v.problems, w.problems...)
}

// judge compares every request with the log of its valve. Call it after all requests are
// terminal, while the exchange still answers. data is the data folder of the exchange.
func (e *errands) judge(data string) *judgement {
	v := &judgement{}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stays(v)
	var told []ackedThread
	for valve := range e.valves {
		mine := slices.DeleteFunc(slices.Clone(e.list), func(one *errand) bool { return one.valve != valve })
		log := e.log(valve)
		v.acts += len(log)
		for i, one := range mine {
			until := len(log)
			if i+1 < len(mine) {
				until = mine[i+1].before
			}
			if one.before > until {
				v.found(&v.dishonest, "valve %d: its log has become shorter: %d, %d", valve, one.before, until)
				continue
			}
			v.one(one, log[one.before:until])
		}
	}
	for _, one := range e.list {
		if one.status != "" {
			told = append(told, ackedThread{ref: one.ref, status: one.status})
		}
	}
	for _, p := range settled(data, told, patience) {
		v.found(&v.lost, "%s", p)
	}
	return v
}

// act is one line of a valve's log.
type act struct {
	at   time.Time
	what string
}

func (a act) String() string { return a.what + " at " + a.at.Format(time.TimeOnly+".000000") }

func (e *errands) log(valve int) (list []act) {
	for line := range strings.Lines(e.text(valve)) {
		words := strings.Fields(line)
		at, err := time.Parse(time.RFC3339Nano, words[0])
		if err != nil {
			panic(err) // the log has another format
		}
		list = append(list, act{at, words[1]})
	}
	return list
}

// one compares one request with the acts that belong to it.
func (v *judgement) one(one *errand, acts []act) {
	v.asked++
	name := fmt.Sprintf("%s (%s, %s valve %d)", one.ref, one.id, one.want, one.valve)
	nothing := one.effect == "none" || slices.Contains([]string{"declined", "expired", "delegated"}, one.status) || one.status == "cancelled" && !one.began
	switch {
	case one.ref == "" || one.status == "":
		v.found(&v.lost, "%s: has not ended within %v", name, patience)
	case len(acts) > 1:
		v.found(&v.doubled, "%s: %s, and it was done %d times: %v", name, one.status, len(acts), acts)
	case one.status == "completed" && len(acts) == 0:
		v.found(&v.dishonest, "%s: completed, and it was not done", name)
	case nothing && len(acts) > 0:
		v.found(&v.dishonest, "%s: %s, effect %q, and it was done: %v", name, one.status, one.effect, acts)
	case one.status != "completed" && !nothing && one.effect != "unknown" && one.effect != "partial":
		v.found(&v.dishonest, "%s: %s, effect %q: that does not say what was done", name, one.status, one.effect)
	}
	if one.cancelled == "cancelled" && (len(acts) > 0 || one.status != "cancelled") {
		v.found(&v.dishonest, "%s: was cancelled before the start, that was acknowledged, and it is %s: %v", name, one.status, acts)
	}
	for _, a := range acts {
		if a.what != one.want {
			v.found(&v.dishonest, "%s: was switched %s", name, a.what)
		}
		if asksFirst(one.valve) && (one.said.IsZero() || a.at.Before(one.said)) {
			v.found(&v.dishonest, "%s: was done at %v without a yes, or before it", name, a.at)
		}
	}
	if one.effect == "unknown" {
		v.unknown++
	}
}

// stays checks that terminal statuses do not change, and that a repeated request gets the same
// ref.
func (e *errands) stays(v *judgement) {
	given := map[string]string{}
	for _, one := range e.list {
		if one.status == "" {
			continue
		}
		if other, twice := given[one.ref]; twice {
			v.found(&v.lost, "%s was given to %s and to %s", one.ref, other, one.id)
		}
		given[one.ref] = one.id
		again := *one
		if !e.ended(&again) || again.status != one.status || again.effect != one.effect && one.effect != "" {
			v.found(&v.dishonest, "%s: was %s (%s), and is %s (%s)", one.ref, one.status, one.effect, again.status, again.effect)
		}
		one.effect = again.effect // judge the late report after a cancel too
		var answer struct{ Ref string }
		body := fmt.Sprintf(`{"id":%q,"intent":"turn %s valve %d"}`, one.id, one.want, one.valve)
		if code := e.call(http.MethodPost, "/requests", body, &answer); code != http.StatusCreated || answer.Ref != one.ref {
			v.found(&v.doubled, "%s: the same request again: %d, %s", one.ref, code, answer.Ref)
		}
	}
}

// journal runs `messkit journal check` and `messkit journal show`: the journal must be valid, and
// every begun task must have a reported result.
func (v *judgement) journal(binary, data string) {
	var check struct{ Mistakes []any }
	var tasks []struct{ Ref, State string }
	for args, into := range map[string]any{"check": &check, "show": &tasks} {
		out, err := exec.Command(binary, "journal", args, "--json", "--data", data).Output()
		if err == nil {
			err = json.Unmarshal(out, into)
		}
		if err != nil {
			v.found(&v.lost, "messkit journal %s: %v", args, err)
		}
	}
	if len(check.Mistakes) > 0 {
		v.found(&v.lost, "the journal in %s: %v", data, check.Mistakes)
	}
	for _, t := range tasks {
		if t.State != "reported" {
			v.found(&v.lost, "%s stands in the journal as %s, and all have ended", t.Ref, t.State)
		}
	}
}
