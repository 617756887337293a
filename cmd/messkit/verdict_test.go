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

// verdict counts the contradictions between the threads and the logs of the valves. It shares
// no code with the program.
type verdict struct {
	asked, acts, unknown     int // requests; switch commands; terminal statuses with effect unknown
	late                     int // acts after the terminal status, which the thread announced as possible
	lost, doubled, dishonest int
	problems                 []string
}

func (v *verdict) addProblem(kind *int, format string, args ...any) {
	*kind++
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

func (v *verdict) String() string {
	return fmt.Sprintf("%d requests, %d acts, %d ends of which nobody knows what was done; lost %d, doubled %d, dishonest %d",
		v.asked, v.acts, v.unknown, v.lost, v.doubled, v.dishonest)
}

// report fails the test with the problems, ten at most.
func (v *verdict) report(t *testing.T) {
	t.Helper()
	for _, problem := range v.problems[:min(len(v.problems), 10)] {
		t.Error(problem)
	}
}

func (v *verdict) add(w *verdict) {
	v.asked, v.acts, v.unknown = v.asked+w.asked, v.acts+w.acts, v.unknown+w.unknown
	v.lost, v.doubled, v.dishonest = v.lost+w.lost, v.doubled+w.doubled, v.dishonest+w.dishonest
	v.problems = append(v.problems, w.problems...)
}

// judge compares every request with the log of its valve. Call it after all requests are
// terminal, while the exchange still answers. data is the data folder of the exchange, "" if the
// threads are elsewhere.
func (e *valveRequests) judge(data string) *verdict {
	v := &verdict{}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.checkFinalStatuses(v)
	var acked []ackedThread
	for valve := range e.valves {
		mine := slices.DeleteFunc(slices.Clone(e.list), func(one *valveRequest) bool { return one.valve != valve })
		log := e.log(valve)
		v.acts += len(log)
		for i, one := range mine {
			until := len(log)
			if i+1 < len(mine) {
				until = mine[i+1].before
			}
			if one.before > until {
				v.addProblem(&v.dishonest, "valve %d: its log has become shorter: %d, %d", valve, one.before, until)
				continue
			}
			v.judgeRequest(one, log[one.before:until])
		}
	}
	for _, one := range e.list {
		if one.status != "" {
			acked = append(acked, ackedThread{ref: one.ref, status: one.status})
		}
	}
	if data == "" {
		return v
	}
	for _, p := range waitForFolders(data, acked, patience) {
		v.addProblem(&v.lost, "%s", p)
	}
	return v
}

// act is one line of a valve's log.
type act struct {
	at   time.Time
	what string
}

func (a act) String() string { return a.what + " at " + a.at.Format(time.TimeOnly+".000000") }

func (e *valveRequests) log(valve int) (list []act) {
	for line := range strings.Lines(e.logText(valve)) {
		words := strings.Fields(line)
		at, err := time.Parse(time.RFC3339Nano, words[0])
		if err != nil {
			panic(err) // the log has another format
		}
		list = append(list, act{at, words[1]})
	}
	return list
}

// judgeRequest compares one request with the acts that belong to it.
func (v *verdict) judgeRequest(one *valveRequest, acts []act) {
	v.asked++
	name := fmt.Sprintf("%s (%s, %s valve %d)", one.ref, one.id, one.want, one.valve)
	nothing := one.effect == "none" || slices.Contains([]string{"declined", "expired", "delegated"}, one.status) || one.status == "cancelled" && !one.began
	switch {
	case one.ref == "" || one.status == "":
		v.addProblem(&v.lost, "%s: has not ended within %v", name, patience)
	case len(acts) > 1:
		v.addProblem(&v.doubled, "%s: %s, and it was done %d times: %v", name, one.status, len(acts), acts)
	case one.status == "completed" && len(acts) == 0:
		v.addProblem(&v.dishonest, "%s: completed, and it was not done", name)
	case nothing && len(acts) > 0:
		v.addProblem(&v.dishonest, "%s: %s, effect %q, and it was done: %v", name, one.status, one.effect, acts)
	case one.status != "completed" && !nothing && one.effect != "unknown" && one.effect != "partial":
		v.addProblem(&v.dishonest, "%s: %s, effect %q: that does not say what was done", name, one.status, one.effect)
	}
	if one.cancelled == "cancelled" && (len(acts) > 0 || one.status != "cancelled") {
		v.addProblem(&v.dishonest, "%s: was cancelled before the start, that was acknowledged, and it is %s: %v", name, one.status, acts)
	}
	for _, a := range acts {
		if a.what != one.want {
			v.addProblem(&v.dishonest, "%s: was switched %s", name, a.what)
		}
		if needsConfirmation(one.valve) && (one.confirmed.IsZero() || a.at.Before(one.confirmed)) {
			v.addProblem(&v.dishonest, "%s: was done at %v without a yes, or before it", name, a.at)
		}
	}
	if one.effect == "unknown" {
		v.unknown++
	}
}

// checkFinalStatuses checks that terminal statuses do not change, and that a repeated request gets the same
// ref.
func (e *valveRequests) checkFinalStatuses(v *verdict) {
	given := map[string]string{}
	for _, one := range e.list {
		if one.status == "" {
			continue
		}
		if other, twice := given[one.ref]; twice {
			v.addProblem(&v.lost, "%s was given to %s and to %s", one.ref, other, one.id)
		}
		given[one.ref] = one.id
		again := *one
		if !e.isTerminal(&again) || again.status != one.status || again.effect != one.effect && one.effect != "" {
			v.addProblem(&v.dishonest, "%s: was %s (%s), and is %s (%s)", one.ref, one.status, one.effect, again.status, again.effect)
		}
		one.effect = again.effect // judge the late report after a cancel too
		var answer struct{ Ref string }
		body := fmt.Sprintf(`{"id":%q,"intent":"turn %s valve %d"}`, one.id, one.want, one.valve)
		if code := e.call(http.MethodPost, "/requests", body, &answer); code != http.StatusCreated || answer.Ref != one.ref {
			v.addProblem(&v.doubled, "%s: the same request again: %d, %s", one.ref, code, answer.Ref)
		}
	}
}

// checkJournal runs `messkit journal check` and `messkit journal show`: the journal must be valid, and
// every begun task must have a reported result.
func (v *verdict) checkJournal(binary, data string) {
	var check struct{ Mistakes []any }
	var tasks []struct{ Ref, State string }
	for args, into := range map[string]any{"check": &check, "show": &tasks} {
		out, err := exec.Command(binary, "journal", args, "--json", "--data", data).Output()
		if err == nil {
			err = json.Unmarshal(out, into)
		}
		if err != nil {
			v.addProblem(&v.lost, "messkit journal %s: %v", args, err)
		}
	}
	if len(check.Mistakes) > 0 {
		v.addProblem(&v.lost, "the journal in %s: %v", data, check.Mistakes)
	}
	for _, t := range tasks {
		if t.State != "reported" {
			v.addProblem(&v.lost, "%s stands in the journal as %s, and all have ended", t.Ref, t.State)
		}
	}
}
