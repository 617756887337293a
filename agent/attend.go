package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// errAnswered ends a task that waits for a person, after the answer to cancel it.
var errAnswered = errors.New("the answer was to cancel it")

// attend runs a task and asks the requester when the task waits for a person.
func attend[T any](ctx context.Context, v verbs, do func(progress func(drivers.Progress)) (T, error)) (T, error) {
	a := &attendant{v: v, news: make(chan struct{}, 1)}
	within, end := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error { a.run(within); return nil })
	out, err := do(a.hear)
	end()
	_ = g.Wait() // it returns nil
	if err != nil && a.cancelled {
		err = fmt.Errorf("%w (%w)", errAnswered, err)
	}
	return out, err
}

// attendant asks a person for help during a task.
type attendant struct {
	v         verbs
	cancelled bool   // the answer was to cancel; set before run ends
	before    string // result of the last answer, for the next question

	mu   sync.Mutex
	help *drivers.HelpError // the device waits for this
	news chan struct{}
}

// hear accepts a driver's progress and does not block.
func (a *attendant) hear(p drivers.Progress) {
	a.mu.Lock()
	if (a.help == nil) != (p.Help == nil) {
		wait.Notify(a.news)
	}
	a.help = p.Help
	a.mu.Unlock()
	a.v.progress(p)
}

func (a *attendant) waits() *drivers.HelpError { a.mu.Lock(); defer a.mu.Unlock(); return a.help }

// run asks once for each wait of the device. If the device continues by itself, run drops the
// question.
func (a *attendant) run(ctx context.Context) {
	var answer <-chan string
	asked := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.news:
		case said := <-answer:
			asked, answer = false, nil
			a.heed(ctx, said)
		}
		switch h := a.waits(); {
		case h == nil && asked:
			asked, answer = false, nil
			a.v.unask()
		case h != nil && !asked && !a.cancelled && ctx.Err() == nil:
			q := forHelp(a.v.dev, h, "help")
			q.Question = sentences(a.before, q.Question)
			asked, answer = true, a.v.ask(q)
		}
	}
}

// heed applies an answer. Any other answer changes nothing.
func (a *attendant) heed(ctx context.Context, said string) {
	switch heed(said) {
	case yes:
		if err := a.goOn(ctx); err != nil {
			a.before = "It does not go on: " + err.Error() + "."
			return
		}
		a.before = ""
		a.mu.Lock()
		a.help = nil // the next reading of the device shows it, too
		a.mu.Unlock()
	case no:
		d, ok := a.v.dev.Driver.(drivers.Stopper)
		if !ok {
			a.before = "It cannot be stopped from here."
			return
		}
		a.cancelled = true
		after, cancel := aftermath(ctx)
		defer cancel()
		if _, err := a.v.pass.StopActivity(after, d); err != nil {
			a.cancelled, a.before = false, "It does not stop: "+err.Error()+"."
		}
	}
}

func (a *attendant) goOn(ctx context.Context) error {
	d, ok := a.v.dev.Driver.(drivers.Pauser)
	if !ok {
		return errors.New("press the button at the device")
	}
	return a.v.pass.ResumeActivity(ctx, d, a.v.plan)
}

// forHelp returns the question whether a waiting device shall continue.
func forHelp(d *device, h *drivers.HelpError, field string) mess.Question {
	todo := strings.TrimSuffix(h.Help, ", then ask again")
	return mess.Question{
		Field: field, Question: fmt.Sprintf("The %s: %s; %s. Shall it go on?", d.Label, h.Problem, todo), Options: []string{yes, no},
	}
}
