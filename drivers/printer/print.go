package printer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
)

// between is the poll interval after a command.
const between = time.Second

// Print starts a print, and waits until the printer reports that it prints.
func (p *Printer) Print(ctx context.Context, name string) (drivers.Print, error) {
	return drivers.DoValue(ctx, &p.Base, func(ctx context.Context) (drivers.Print, error) {
		path, err := p.find(ctx, name)
		if err != nil {
			return drivers.Print{}, drivers.MarkNothingDone(err)
		}
		before, err := p.free(ctx)
		if err != nil {
			return drivers.Print{}, err
		}
		began := p.now()
		p.lastStart.Store(&start{path, began})
		p.paused.Store(false)
		sendErr := p.is.start(ctx, path)
		if errors.Is(sendErr, drivers.ErrNothingDone) {
			p.lastStart.Store(nil)
			return drivers.Print{}, sendErr
		}
		s, err := p.until(ctx, sendErr, func(s state) bool {
			return (s.active() && s.Phase != busy || s.Phase == finished && !s.same(before)) && s.File == path
		})
		switch {
		case err == nil:
			p.lastStart.Store(nil)
		case errors.Is(ctx.Err(), context.Canceled): // no caller follows the print
			err = fmt.Errorf("the printer has the command to print %s, and has not begun: %w", path, drivers.ErrMayAct)
		}
		return drivers.Print{File: path, Label: s.Label, ID: s.ID, Began: began}, err
	})
}

// start is a print command that the printer has not begun to execute.
type start struct {
	path string
	at   time.Time
}

// mayBegin is how long a printer may need to begin: it answers first, and then homes, or
// finishes its present task.
const mayBegin = time.Minute

// begins returns an error if the printer may still begin a print, else nil.
func (p *Printer) begins() error {
	s := p.lastStart.Load()
	if s == nil || p.now().Sub(s.at) > mayBegin {
		return nil
	}
	return fmt.Errorf("the printer has the command to print %s, and has not begun; stop it when it does: %w", s.path, drivers.ErrMayAct)
}

// same reports whether the last print is still that of before.
func (s state) same(before state) bool {
	switch {
	case before.Phase != finished || before.File != s.File:
		return false
	case before.ID != "" && s.ID != "":
		return before.ID == s.ID
	}
	return s.Elapsed >= before.Elapsed // a new print has a shorter time
}

// free returns the state of the printer, and an error if it cannot accept a print.
func (p *Printer) free(ctx context.Context) (state, error) {
	s, err := p.is.state(ctx)
	switch {
	case err != nil:
		return s, drivers.MarkNothingDone(err)
	case s.Phase == failed || s.Phase == offline:
		return s, drivers.MarkNothingDone(s.neededHelp())
	case s.active():
		return s, fmt.Errorf("%w: it is %s; wait until it has finished, or cancel it", drivers.ErrBusy, s.activityText())
	}
	return s, nil
}

// until polls the printer until so returns true. sendErr is the error of the command: a
// printer that answers late may have received it.
func (p *Printer) until(ctx context.Context, sendErr error, so func(state) bool) (state, error) {
	for {
		s, err := p.is.state(ctx)
		switch {
		case err == nil && so(s):
			return s, nil
		case err == nil && (s.Phase == failed || s.Phase == offline):
			return s, s.neededHelp()
		}
		if !wait.For(ctx, min(between, p.cfg.Poll)) {
			return s, cmp.Or(sendErr, ctx.Err())
		}
	}
}

// PrintState returns the state of a print.
func (p *Printer) PrintState(ctx context.Context, one drivers.Print) (drivers.PrintState, error) {
	return drivers.DoValue(ctx, &p.Base, func(ctx context.Context) (drivers.PrintState, error) {
		s, err := p.is.state(ctx)
		if err != nil {
			return drivers.PrintState{}, err
		}
		out := drivers.PrintState{
			Progress: drivers.Progress{Percent: min(99, s.Percent), Activity: s.activityText(), TimeLeft: s.Left},
			Layer:    s.Layer, Layers: s.Layers, PollInterval: p.cfg.Poll,
		}
		if s.active() && s.is(one) {
			out.Paused, out.Help = s.Phase == paused, s.neededHelp()
			if out.Paused && out.Help == nil && !p.paused.Load() {
				out.Help = &drivers.HelpError{Problem: "the printer has paused without a reason", Help: "check whether filament has run out, or whether a person has paused it"}
			}
			return out, nil
		}
		out.Finished = true
		switch s.ends(one) {
		case finished:
			out.Percent = 100
			return out, nil
		case failed, offline:
			out.Err = s.neededHelp()
			return out, nil
		case cancelled:
			out.Err = errors.New("another request or a person at the printer canceled it")
			return out, nil
		}
		out.Percent, out.Layer, out.Layers = 0, 0, 0 // values of another print
		end, _, err := p.is.last(ctx, one.File, one.Began)
		switch {
		case err != nil:
			return drivers.PrintState{}, err
		case end == nil:
			out.Err = errors.New("the printer does not print that any more, and does not report its result; inspect it")
		case !end.whole:
			out.Err = fmt.Errorf("the print is incomplete: %s", end.reason)
		default:
			out.Percent = 100
		}
		return out, nil
	})
}

// is reports whether this is the print of the printer.
func (s state) is(one drivers.Print) bool {
	if s.ID != "" && one.ID != "" {
		return s.ID == one.ID
	}
	return s.File == one.File || s.File == "" // a printer that prepares does not report the file
}

// ends returns the result of this print if the printer reports it as its last one.
func (s state) ends(one drivers.Print) phase {
	switch {
	case s.Phase == offline:
		return offline
	case s.File != one.File || !s.is(one):
		return idle
	}
	return s.Phase
}

// ending is the result of a print in the records of a server.
type ending struct {
	id     string
	began  time.Time
	whole  bool
	reason string
}

// Limits for the difference between the reported and the requested start of the same print,
// because clocks differ and a printer may be slow.
const (
	earlier = 2 * time.Minute
	later   = 10 * time.Minute
)

// mayBeSamePrint reports whether a print that began at this time may be the one from since.
func mayBeSamePrint(began, since time.Time) bool {
	return !began.Before(since.Add(-earlier)) && !began.After(since.Add(later))
}

// FindPrint searches for a print by its file and its start.
func (p *Printer) FindPrint(ctx context.Context, name string, since time.Time) (drivers.Print, error) {
	return drivers.DoValue(ctx, &p.Base, func(ctx context.Context) (drivers.Print, error) {
		path, err := p.find(ctx, name)
		if err != nil {
			return drivers.Print{}, err
		}
		end, keeps, err := p.is.last(ctx, path, since)
		if err != nil {
			return drivers.Print{}, err
		}
		if end != nil {
			return drivers.Print{File: path, ID: end.id, Began: end.began}, nil
		}
		s, err := p.is.state(ctx)
		if err != nil {
			return drivers.Print{}, err
		}
		if !s.active() || s.File != path {
			return drivers.Print{}, fmt.Errorf("%w: it does not print %s now: %s", drivers.ErrNoPrint, path, s.Phase)
		}
		if began := s.began(p.now()); !mayBeSamePrint(began, since) && !(keeps && began.After(since)) {
			return drivers.Print{}, fmt.Errorf("%w: it prints %s, but since about %s", drivers.ErrNoPrint, path, began.Format("15:04"))
		}
		return drivers.Print{File: path, Label: s.Label, ID: s.ID, Began: since}, nil
	})
}

// Pause pauses the print.
func (p *Printer) Pause(ctx context.Context) error {
	p.paused.Store(true) // set first, because a poll may come in between
	err := p.command(ctx, "pause", []phase{paused, attention}, []phase{printing}, p.is.pause)
	if errors.Is(err, drivers.ErrNothingDone) {
		p.paused.Store(false)
	}
	return err
}

// Resume continues the print.
func (p *Printer) Resume(ctx context.Context) error {
	err := p.command(ctx, "resume", []phase{printing}, []phase{paused, attention}, p.is.resume)
	if err == nil {
		p.paused.Store(false)
	}
	return err
}

// command sends a command for the print, and waits until the printer has one of the phases in
// want.
func (p *Printer) command(ctx context.Context, what string, want, from []phase, do func(context.Context, state) error) error {
	_, err := drivers.DoValue(ctx, &p.Base, func(ctx context.Context) (state, error) {
		s, err := p.is.state(ctx)
		switch {
		case err != nil:
			return s, drivers.MarkNothingDone(err)
		case s.in(want):
			return s, nil
		case !s.in(from):
			return s, drivers.MarkNothingDone(errors.New("the printer has no print for the command " + what))
		}
		sendErr := do(ctx, s)
		if errors.Is(sendErr, drivers.ErrNothingDone) {
			return s, sendErr
		}
		return p.until(ctx, sendErr, func(s state) bool { return s.in(want) })
	})
	return err
}

func (s state) in(list []phase) bool { return slices.Contains(list, s.Phase) }

// Stop cancels the print, and turns off the heaters if the server supports it. left
// describes the rest on the bed.
func (p *Printer) Stop(ctx context.Context) (left string, err error) {
	return drivers.DoValue(ctx, &p.Base, p.stop)
}

func (p *Printer) stop(ctx context.Context) (left string, err error) {
	s, err := p.is.state(ctx)
	if err != nil {
		return "", drivers.MarkNothingDone(err)
	}
	after := s
	if s.active() {
		sendErr := p.is.cancel(ctx, s)
		if errors.Is(sendErr, drivers.ErrNothingDone) && !s.in([]phase{busy}) {
			return "", sendErr
		}
		if after, err = p.until(ctx, sendErr, func(s state) bool {
			if sendErr != nil && s.active() && s.Phase != busy { // the printer may not have received the command
				sendErr = p.is.cancel(ctx, s)
			}
			return !s.active()
		}); err != nil {
			if _, help := errors.AsType[*drivers.HelpError](err); !help { // a printer with a problem does not print
				return "", fmt.Errorf("the printer has the command to cancel its print, and has not confirmed it: %w", drivers.ErrMayAct)
			}
		}
		p.lastStart.Store(nil)
	}
	if after.Phase != offline && p.is.cools() {
		if err := p.is.cool(ctx); err != nil {
			return "", fmt.Errorf("the print has stopped, but the heaters may be on: %w", err)
		}
	}
	if err := p.begins(); err != nil {
		return "", err
	}
	return remains(s, after, p.is.cools()), nil
}

// remains describes the rest of a canceled print, or that there was none.
func remains(was, now state, cooled bool) string {
	if !was.active() || was.Phase == busy && was.Percent == 0 {
		return map[bool]string{true: "there was no print; the heaters are off", false: "there was no print"}[cooled && now.Phase != offline]
	}
	text := fmt.Sprintf("a half print (%.0f %% of %s) lies on the bed", was.Percent, was.called())
	if was.Layers > 0 {
		text = fmt.Sprintf("a half print (layer %d of %d of %s) lies on the bed", was.Layer, was.Layers, was.called())
	}
	if now.Bed != nil && *now.Bed > 40 {
		text += fmt.Sprintf(", which still has %.0f °C: remove it when the bed is cold", *now.Bed)
	} else {
		text += ": remove it before the next print"
	}
	if cooled {
		return text + "; the heaters are off"
	}
	return text + "; the printer turns its heaters off by itself, so check that it does"
}
