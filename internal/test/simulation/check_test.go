package simulation_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// check judges a scenario by the log of the devices, the writes of the exchange, and the messages
// to the requesters. It shares no code with the programs under test. Each line of the result is
// one violation, with the invariant of the design.
func (sc *scenario) check() []string {
	bad := slices.Clone(sc.world.breach)
	acts := map[string][]act{}
	for _, a := range sc.world.acts {
		acts[a.token] = append(acts[a.token], a)
	}
	for _, w := range sc.people.orders {
		if w.ref == "" {
			continue
		}
		t, ok := sc.threads[w.ref]
		if !ok {
			bad = append(bad, fmt.Sprintf("I6 %s was acknowledged as %s and is gone", w.token, w.ref))
			continue
		}
		j := judge{sc: sc, w: w, t: t, acts: acts[w.token], seen: sc.server.seen[w.ref]}
		j.checkAll()
		bad = append(bad, j.bad...)
	}
	for _, b := range sc.boards {
		bad = append(bad, b.checkStops(sc.world.acts)...)
		for _, task := range b.left {
			bad = append(bad, fmt.Sprintf("I2 %s is left in the journal of %s", task, b.id))
		}
		bad = append(bad, sc.lostMessages(b)...)
	}
	return bad
}

// lostMessages returns the messages of an executor that the exchange acknowledged and that are in no
// thread (I6).
func (sc *scenario) lostMessages(b *executor) (bad []string) {
	kept := map[string]bool{}
	for _, list := range sc.server.seen {
		for _, s := range list {
			if s.from == b.id {
				kept[s.message.ID] = true
				// The exchange stores a repeated claim and a repeated decline once.
				if w := key(s.message); strings.HasSuffix(w, ":declined") || strings.HasSuffix(w, ":claimed") {
					kept[w] = true
				}
			}
		}
	}
	for _, m := range b.link.acked {
		if !kept[m.id] && !kept[m.what] {
			bad = append(bad, fmt.Sprintf("I6 %s by %s was acknowledged and is in no thread", m.what, b.id))
		}
	}
	return bad
}

// checkStops finds actions that began while the board had an emergency stop (I11).
func (b *executor) checkStops(acts []act) (bad []string) {
	for _, a := range acts {
		for _, s := range b.stops {
			if !a.late && strings.HasPrefix(a.robot, b.id+"/") && !strings.HasPrefix(a.robot, b.id+"/"+twinned) && a.at.After(s.from) && a.at.Before(s.to) {
				bad = append(bad, fmt.Sprintf("I11 %s began %s in an emergency stop", a.robot, a.token))
			}
		}
	}
	return bad
}

// judge checks one request.
type judge struct {
	sc   *scenario
	w    *order
	t    exchange.Thread
	acts []act
	seen []seen
	bad  []string
}

func (j *judge) addProblem(format string, args ...any) {
	var codes []string
	for _, s := range j.seen {
		codes = append(codes, fmt.Sprintf("%s %s/%d by %s", s.at.Format("02T15:04:05.000"), s.env.Status, s.env.Epoch, s.from))
	}
	var did []string
	for _, a := range j.acts {
		did = append(did, a.at.Format("02T15:04:05.000 ")+a.robot)
	}
	j.bad = append(j.bad, fmt.Sprintf(format, args...)+fmt.Sprintf("\n\t%s: %q\n\tacts: %s\n\t%s",
		j.w.ref, j.t.Intent, strings.Join(did, "; "), strings.Join(codes, "\n\t")))
}

func (j *judge) checkAll() {
	j.checkEnd()
	j.checkOrder()
	j.checkCount()
	j.checkReport()
	j.checkLateCommand()
	j.checkTimes()
	j.checkConfirmation()
}

// checkEnd checks that the request has exactly one terminal status, and that the requester received
// it (I2, I5).
func (j *judge) checkEnd() {
	n := 0
	for i, s := range j.seen {
		if over(s.env.Status) && (i == 0 || !over(j.seen[i-1].env.Status)) {
			n++
		}
	}
	if n != 1 || !over(j.t.Status) || !j.w.ended {
		j.addProblem("I2 %s has %d ends, is %s, and its requester was told: %t", j.w.token, n, j.t.Status, j.w.ended)
	}
}

func over(c mess.Code) bool {
	return slices.Contains([]mess.Code{"completed", "partial", "failed", "declined", "expired", "cancelled", "superseded", "delegated"}, c)
}

// checkOrder checks the sequence of envelopes: versions and epochs increase, a terminal status does
// not change, and only the holder with its epoch changes a claimed thread (I4, I5).
func (j *judge) checkOrder() {
	for i := 1; i < len(j.seen); i++ {
		was, is := j.seen[i-1].env, j.seen[i]
		if is.env.Ver != was.Ver+1 || is.env.Epoch < was.Epoch || is.env.Epoch > was.Epoch+1 {
			j.addProblem("I5 %s went from version %d epoch %d to %d, %d", j.w.token, was.Ver, was.Epoch, is.env.Ver, is.env.Epoch)
		}
		if over(was.Status) && is.env.Status != was.Status {
			j.addProblem("I5 %s went from %s to %s", j.w.token, was.Status, is.env.Status)
		}
		if (is.env.Epoch > was.Epoch) != (was.Status == "pending" && is.env.Status == "claimed") {
			j.addProblem("I4 %s: a claim without an epoch, or an epoch without a claim", j.w.token)
		}
		moved := is.env.Status != was.Status && was.Status != "pending"
		handedBack := is.env.Status == "pending" && is.message.Epoch == 0 // from an executor that did not receive the answer to its claim
		if moved && strings.HasPrefix(is.from, "board") && (is.from != was.Executor || is.message.Epoch != was.Epoch && !handedBack) {
			j.addProblem("I4 %s: moved by %s with epoch %d, held by %s with %d", j.w.token, is.from, is.message.Epoch, was.Executor, was.Epoch)
		}
	}
}

// checkCount checks that an action with once set did not happen twice (I1).
func (j *judge) checkCount() {
	if j.w.once && len(j.acts) > 1 {
		j.addProblem("I1 %s happened %d times", j.w.token, len(j.acts))
	}
}

// effect returns the physical effect that the thread reports with its terminal status.
func (j *judge) effect() mess.Effect {
	var e mess.Effect
	for i, s := range j.seen {
		if i > 0 && over(j.seen[i-1].env.Status) {
			break // later messages are evidence
		}
		e = ""
		for _, item := range s.message.Items {
			if st, ok := item.(*mess.Status); ok && st.Reason != nil {
				e = st.Reason.Effect
			}
		}
		for _, m := range s.also {
			for _, item := range m.Items {
				if st, ok := item.(*mess.Status); ok && st.Reason != nil && st.Reason.Effect != "" {
					e = st.Reason.Effect
				}
			}
		}
	}
	return e
}

// checkReport checks that the reported result is the actual one (I3, I7).
func (j *judge) checkReport() {
	if j.w.device != "clean" {
		return
	}
	acted, effect := len(j.acts) > 0, j.effect()
	untouched := effect == mess.EffectNone ||
		effect == "" && slices.Contains([]mess.Code{"declined", "expired", "cancelled", "failed"}, j.t.Status)
	switch {
	case j.t.Status == "completed" && !acted:
		j.addProblem("I3 %s is completed, and nothing was done", j.w.token)
	case untouched && acted && j.w.stopped && j.t.History[len(j.t.History)-1].By == person.ID:
		j.addProblem("I7 %s was cancelled before the start, and was done", j.w.token)
	case untouched && acted:
		j.addProblem("I3 %s is %s with effect %q, and was done", j.w.token, j.t.Status, effect)
	}
}

// checkLateCommand checks that the terminal status of a task with a late command says that the command may
// still act (I3). If the program died during the command, the next program reports only an
// unknown effect.
func (j *judge) checkLateCommand() {
	var end *mess.Status
	var at time.Time
	for i, s := range j.seen {
		if !over(s.env.Status) || i > 0 && over(j.seen[i-1].env.Status) {
			continue
		}
		at = s.at
		for _, item := range s.message.Items {
			if st, ok := item.(*mess.Status); ok {
				end = st
			}
		}
	}
	for _, a := range j.acts {
		if !a.late || end == nil || end.Reason == nil || end.Reason.Type == "interrupted" || !a.at.After(at) {
			continue
		}
		if !strings.Contains(end.Reason.Detail, "may still act") || end.Suggestion == "" {
			j.addProblem("I3 %s was done after its end, which says %q, suggestion %q", j.w.token, end.Reason.Detail, end.Suggestion)
		}
	}
}

// checkTimes checks that no action begins later than two seconds after needed_by, by the clock of the
// exchange (I8). An action must not begin before the completion of its dependency either (I14).
func (j *judge) checkTimes() {
	for _, a := range j.acts {
		if !a.late && !j.w.neededBy.IsZero() && !slices.ContainsFunc(j.sc.server.clocks(a.at), func(at time.Time) bool {
			return !at.After(j.w.neededBy.Add(2 * time.Second))
		}) {
			j.addProblem("I8 %s began at %s, and was needed by %s", j.w.token, a.at, j.w.neededBy)
		}
		if j.w.after == nil {
			continue
		}
		done := time.Time{}
		for _, s := range j.sc.server.seen[j.w.after.ref] {
			if s.env.Status == "completed" {
				done = s.at
				break
			}
		}
		if done.IsZero() || a.at.Before(done) {
			j.addProblem("I14 %s began before %s was completed", j.w.token, j.w.after.token)
		}
	}
}

// clocks returns the possible readings of the clocks of the exchanges in the seconds before t.
func (s *server) clocks(t time.Time) []time.Time {
	var list []time.Time
	for _, n := range s.nodes {
		steps := append([]clockStep{{}}, n.steps...)
		for i, c := range steps {
			until := i+1 == len(steps) || !steps[i+1].at.Before(t.Add(-3*time.Second))
			if !c.at.After(t) && until {
				list = append(list, t.Round(0).Add(c.step))
			}
		}
	}
	return list
}

// checkConfirmation checks that an action that needs a confirmation had one before it began, for its claim
// (I9).
func (j *judge) checkConfirmation() {
	if !j.w.confirm {
		return
	}
	for _, a := range j.acts {
		board, _, _ := strings.Cut(a.robot, "/")
		ok := slices.ContainsFunc(j.seen, func(s seen) bool {
			c := s.env.Confirm
			return s.at.Before(a.at) && s.env.Executor == board && c != nil && c.Epoch == s.env.Epoch &&
				c.Given != nil && *c.Given && c.GivenBy == person.ID
		})
		if !ok || j.w.statusText.IsZero() || a.at.Before(j.w.statusText) {
			j.addProblem("I9 %s began without a yes", j.w.token)
		}
	}
}
