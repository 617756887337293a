package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// ErrAnsweredCancel ends a task that waits for a person, after the answer to cancel it.
var ErrAnsweredCancel = errors.New("the answer was to cancel it")

// withAssistance runs a task, do, and asks the requester when the task waits for a person. It
// returns the result of do. The error is ErrAnsweredCancel if the answer ended the task.
func withAssistance[T any](ctx context.Context, run Run, do func(progress func(drivers.Progress)) (T, error)) (T, error) {
	a := &assistant{run: run, changed: make(chan struct{}, 1)}
	within, end := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error { a.serve(within); return nil })
	out, err := do(a.progress)
	end()
	_ = g.Wait() // it returns nil
	if err != nil && a.cancelled {
		err = fmt.Errorf("%w (%w)", ErrAnsweredCancel, err)
	}
	return out, err
}

// assistant asks a person for help during a task.
type assistant struct {
	run         Run
	cancelled   bool   // the answer was to cancel; serve sets it before it ends
	lastOutcome string // result of the last answer, for the next question

	mu      sync.Mutex
	help    *drivers.HelpError // the device waits for this; nil: it does not wait
	changed chan struct{}      // signals that the device began or ended to wait
}

// progress accepts a driver's progress and does not block.
func (a *assistant) progress(p drivers.Progress) {
	a.mu.Lock()
	if (a.help == nil) != (p.Help == nil) {
		wait.Notify(a.changed)
	}
	a.help = p.Help
	a.mu.Unlock()
	a.run.Progress(p)
}

func (a *assistant) currentHelp() *drivers.HelpError { a.mu.Lock(); defer a.mu.Unlock(); return a.help }

// serve asks once for each wait of the device, until ctx ends. If the device continues on its own,
// serve withdraws the question.
func (a *assistant) serve(ctx context.Context) {
	var answer <-chan string
	asked := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.changed:
		case text := <-answer:
			asked, answer = false, nil
			a.applyAnswer(ctx, text)
		}
		switch h := a.currentHelp(); {
		case h == nil && asked:
			asked, answer = false, nil
			a.run.WithdrawQuestion()
		case h != nil && !asked && !a.cancelled && ctx.Err() == nil:
			q := helpQuestion(a.run.Device, h, "help")
			q.Question = wording.Sentences(a.lastOutcome, q.Question)
			asked, answer = true, a.run.Ask(q)
		}
	}
}

// applyAnswer applies an answer to continue or to cancel. Any other answer changes nothing.
func (a *assistant) applyAnswer(ctx context.Context, text string) {
	switch parseHelpAnswer(text) {
	case answerContinue:
		if err := a.resume(ctx); err != nil {
			a.lastOutcome = "It does not go on: " + err.Error() + "."
			return
		}
		a.lastOutcome = ""
		a.mu.Lock()
		a.help = nil // the next reading of the device shows it, too
		a.mu.Unlock()
	case answerCancel:
		d, ok := a.run.Device.Driver.(drivers.Stopper)
		if !ok {
			a.lastOutcome = "The agent cannot stop it."
			return
		}
		a.cancelled = true
		after, cancel := readbackContext(ctx)
		defer cancel()
		if _, err := a.run.Pass.StopActivity(after, d); err != nil {
			a.cancelled, a.lastOutcome = false, "It does not stop: "+err.Error()+"."
		}
	}
}

// resume lets the device continue.
func (a *assistant) resume(ctx context.Context) error {
	d, ok := a.run.Device.Driver.(drivers.Pauser)
	if !ok {
		return errors.New("press the button at the device")
	}
	return a.run.Pass.ResumeActivity(ctx, d, a.run.Plan)
}

// helpQuestion returns the question whether a waiting device shall continue.
func helpQuestion(d *device.Handle, h *drivers.HelpError, field string) mess.Question {
	todo := strings.TrimSuffix(h.Help, ", then ask again")
	return mess.Question{
		Field: field, Question: fmt.Sprintf("The %s: %s; %s. Shall it go on?", d.Label, h.Problem, todo), Options: []string{answerContinue, answerCancel},
	}
}
