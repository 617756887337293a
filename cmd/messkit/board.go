package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/terminal"
	"github.com/messkit/messkit/mess"
)

// taskBoard is what watch shows on a terminal: who is there, what is stopped, and
// the tasks with their states. It only knows what it has been told.
type taskBoard struct {
	where     string // the exchange's address
	executors []remote.Executor
	threads   []remote.Thread         // newest change first
	said      map[string]*mess.Status // by thread, the last report
	err       error                   // why it is not told anything now; nil: it is
}

// hear takes what was said in a thread.
func (b *taskBoard) hear(ref string, messages ...mess.Message) {
	if s, _ := lastStatus(messages); s != nil && ref != "" {
		b.said[ref] = s
	}
}

// forget drops what was said in threads that are not on the board.
func (b *taskBoard) forget() {
	there := map[string]bool{}
	for _, t := range b.threads {
		there[t.Ref] = true
	}
	for ref := range b.said {
		if !there[ref] {
			delete(b.said, ref)
		}
	}
}

// lines are the board at a moment, as many as rows lines. What is open stands
// before what has ended.
func (b *taskBoard) lines(now time.Time, rows int) []string {
	open := 0
	for _, t := range b.threads {
		if !t.Status.Terminal() {
			open++
		}
	}
	list := []string{fmt.Sprintf("%s  %s  %d open  %s", now.Local().Format(time.TimeOnly), b.where, open, count(len(b.executors), "executor"))}
	if b.err != nil {
		list = append(list, "NOT REACHED  "+b.err.Error())
	}
	list = append(list, "")
	for _, e := range b.executors {
		list = append(list, fmt.Sprintf("%-20s  %s", e.ID, seen(e)))
	}
	list = append(list, "")
	foot := []string{"", "messkit stop takes everything to its safe state; Ctrl-C leaves this page"}
	threads := slices.Clone(b.threads)
	slices.SortStableFunc(threads, func(x, y remote.Thread) int { return cmp.Compare(ended(x), ended(y)) })
	for _, t := range threads[:max(0, min(len(threads), rows-len(list)-len(foot)))] {
		list = append(list, b.task(t, now))
	}
	if len(threads) == 0 {
		list = append(list, `nothing has been asked yet: messkit ask "what's in the fridge?"`)
	}
	return append(list, foot...)
}

func ended(t remote.Thread) int {
	if t.Status.Terminal() {
		return 1
	}
	return 0
}

// task is the line of one thread.
func (b *taskBoard) task(t remote.Thread, now time.Time) string {
	words := []string{fmt.Sprintf("%s  %-18s", t.Ref, strings.ReplaceAll(string(t.Status), "_", " "))}
	s := b.said[t.Ref]
	if s != nil && s.Code != t.Status {
		s = nil // of a state that is over
	}
	if s != nil && s.ProgressPct != nil {
		words = append(words, fmt.Sprintf("%s %3.0f %%", terminal.Bar(*s.ProgressPct/100, barWidth/2), *s.ProgressPct))
	}
	words = append(words, fmt.Sprintf("%4s", age(now.Sub(t.Updated))))
	words = append(words, nonEmpty(t.Executor, t.Intent)...)
	if s != nil {
		text := cmp.Or(s.Message, reasonOf(s))
		if s.Code == mess.NeedsConfirmation || s.Code == mess.NeedsInput {
			text = "messkit reply " + t.Ref
		}
		words = append(words, nonEmpty(text)...)
	}
	return strings.Join(words, "  ")
}

// age is how long ago something was, in its largest unit.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
