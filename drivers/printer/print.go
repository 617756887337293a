package printer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
)

// between is the time between two looks at a printer that was just told something.
const between = time.Second

// Print starts a print, and waits until the printer says that it prints.
func (p *Printer) Print(ctx context.Context, name string) (drivers.Print, error) {
	return drivers.During(ctx, &p.Life, func(ctx context.Context) (drivers.Print, error) {
		path, err := p.find(ctx, name)
		if err != nil {
			return drivers.Print{}, drivers.NotDone(err)
		}
		before, err := p.free(ctx)
		if err != nil {
			return drivers.Print{}, err
		}
		began := p.now()
		p.told.Store(&start{path, began})
		p.paused.Store(false)
		told := p.is.start(ctx, path)
		if errors.Is(told, drivers.ErrNothingDone) {
			p.told.Store(nil)
			return drivers.Print{}, told
		}
		s, err := p.until(ctx, told, func(s state) bool {
			return (s.active() && s.Phase != busy || s.Phase == finished && !s.same(before)) && s.File == path
		})
		switch {
		case err == nil:
			p.told.Store(nil)
		case errors.Is(ctx.Err(), context.Canceled): // nobody follows it
			err = fmt.Errorf("it was told to print %s, and has not begun: %w", path, drivers.ErrMayAct)
		}
		return drivers.Print{File: path, Label: s.Label, ID: s.ID, Began: began}, err
	})
}

// start is a print that the printer was told to begin, and has not begun yet.
type start struct {
	path string
	at   time.Time
}

// mayBegin is how long a printer may take to begin what it was told: it answers
// first, and homes, or ends what it is at.
const mayBegin = time.Minute

// begins is why it may still begin a print, nil if it may not.
func (p *Printer) begins() error {
	s := p.told.Load()
	if s == nil || p.now().Sub(s.at) > mayBegin {
		return nil
	}
	return fmt.Errorf("it was told to print %s, has not begun that, and is to be stopped when it does: %w", s.path, drivers.ErrMayAct)
}

// same reports whether the last print is still the one that it was before.
func (s state) same(before state) bool {
	switch {
	case before.Phase != finished || before.File != s.File:
		return false
	case before.ID != "" && s.ID != "":
		return before.ID == s.ID
	}
	return s.Elapsed >= before.Elapsed // a new one has only begun just now
}

// free returns how the printer is, and no error if it can take a print.
func (p *Printer) free(ctx context.Context) (state, error) {
	s, err := p.is.state(ctx)
	switch {
	case err != nil:
		return s, drivers.NotDone(err)
	case s.Phase == failed || s.Phase == offline:
		return s, drivers.NotDone(s.trouble())
	case s.active():
		return s, fmt.Errorf("%w: it is %s; wait for that, or cancel it", drivers.ErrBusy, s.doing())
	}
	return s, nil
}

// until looks at the printer until it is as wanted. told is what came of telling it:
// a printer that is slow to answer may have heard.
func (p *Printer) until(ctx context.Context, told error, so func(state) bool) (state, error) {
	for {
		s, err := p.is.state(ctx)
		switch {
		case err == nil && so(s):
			return s, nil
		case err == nil && (s.Phase == failed || s.Phase == offline):
			return s, s.trouble()
		}
		t := time.NewTimer(min(between, p.cfg.Poll))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			if told != nil {
				return s, told
			}
			return s, ctx.Err()
		}
	}
}

// Printing tells how a print stands.
func (p *Printer) Printing(ctx context.Context, one drivers.Print) (drivers.PrintState, error) {
	return drivers.During(ctx, &p.Life, func(ctx context.Context) (drivers.PrintState, error) {
		s, err := p.is.state(ctx)
		if err != nil {
			return drivers.PrintState{}, err
		}
		out := drivers.PrintState{
			Progress: drivers.Progress{Percent: min(99, s.Percent), Doing: s.doing(), Left: s.Left},
			Layer:    s.Layer, Layers: s.Layers, Every: p.cfg.Poll,
		}
		if s.active() && s.is(one) {
			out.Paused, out.Help = s.Phase == paused, s.trouble()
			if out.Paused && out.Help == nil && !p.paused.Load() {
				out.Help = &drivers.HelpError{Problem: "the printer has paused, and does not say why", Help: "look whether filament has run out, or somebody has paused it"}
			}
			return out, nil
		}
		out.Over = true
		switch s.ends(one) {
		case finished:
			out.Percent = 100
			return out, nil
		case failed, offline:
			out.Err = s.trouble()
			return out, nil
		case cancelled:
			out.Err = errors.New("it was cancelled, at the printer or by another request")
			return out, nil
		}
		out.Percent, out.Layer, out.Layers = 0, 0, 0 // of another
		end, _, err := p.is.last(ctx, one.File, one.Began)
		switch {
		case err != nil:
			return drivers.PrintState{}, err
		case end == nil:
			out.Err = errors.New("it does not print that any more, and does not say how it ended; look at it")
		case !end.whole:
			out.Err = fmt.Errorf("it did not come out whole: %s", end.why)
		default:
			out.Percent = 100
		}
		return out, nil
	})
}

// is reports whether the printer's print is this one.
func (s state) is(one drivers.Print) bool {
	if s.ID != "" && one.ID != "" {
		return s.ID == one.ID
	}
	return s.File == one.File || s.File == "" // which a printer that gets ready does not say
}

// ends is how this print has ended, by what the printer says of its last one.
func (s state) ends(one drivers.Print) phase {
	switch {
	case s.Phase == offline:
		return offline
	case s.File != one.File || !s.is(one):
		return idle
	}
	return s.Phase
}

// ending is the end of a print, from a server's own record.
type ending struct {
	id    string
	began time.Time
	whole bool
	why   string
}

// A print is one that was begun at a time if it has begun so much before or after:
// clocks differ, and a printer may be slow.
const (
	earlier = 2 * time.Minute
	later   = 10 * time.Minute
)

// near reports whether a print that has begun then is the one that was begun at
// since.
func near(began, since time.Time) bool {
	return !began.Before(since.Add(-earlier)) && !began.After(since.Add(later))
}

// Find looks for a print, by its file and when it was begun.
func (p *Printer) Find(ctx context.Context, name string, since time.Time) (drivers.Print, error) {
	return drivers.During(ctx, &p.Life, func(ctx context.Context) (drivers.Print, error) {
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
		if began := s.began(p.now()); !near(began, since) && !(keeps && began.After(since)) {
			return drivers.Print{}, fmt.Errorf("%w: it prints %s, which was begun at another time: about %s", drivers.ErrNoPrint, path, began.Format("15:04"))
		}
		return drivers.Print{File: path, Label: s.Label, ID: s.ID, Began: since}, nil
	})
}

// Pause pauses the print.
func (p *Printer) Pause(ctx context.Context) error {
	p.paused.Store(true) // from before: somebody may look meanwhile
	err := p.tell(ctx, "pause", []phase{paused, attention}, []phase{printing}, p.is.pause)
	if errors.Is(err, drivers.ErrNothingDone) {
		p.paused.Store(false)
	}
	return err
}

// Resume lets it go on.
func (p *Printer) Resume(ctx context.Context) error {
	err := p.tell(ctx, "go on", []phase{printing}, []phase{paused, attention}, p.is.resume)
	if err == nil {
		p.paused.Store(false)
	}
	return err
}

// tell tells the printer something about its print, and waits until it is so.
func (p *Printer) tell(ctx context.Context, what string, want, from []phase, do func(context.Context, state) error) error {
	_, err := drivers.During(ctx, &p.Life, func(ctx context.Context) (state, error) {
		s, err := p.is.state(ctx)
		switch {
		case err != nil:
			return s, drivers.NotDone(err)
		case s.in(want):
			return s, nil
		case !s.in(from):
			return s, drivers.NotDone(errors.New("there is no print that could " + what))
		}
		told := do(ctx, s)
		if errors.Is(told, drivers.ErrNothingDone) {
			return s, told
		}
		return p.until(ctx, told, func(s state) bool { return s.in(want) })
	})
	return err
}

func (s state) in(list []phase) bool {
	for _, one := range list {
		if s.Phase == one {
			return true
		}
	}
	return false
}

// Stop cancels the print, and switches the heaters off where the server can. left
// is what lies on the bed.
func (p *Printer) Stop(ctx context.Context) (left string, err error) {
	return drivers.During(ctx, &p.Life, p.stop)
}

func (p *Printer) stop(ctx context.Context) (left string, err error) {
	s, err := p.is.state(ctx)
	if err != nil {
		return "", drivers.NotDone(err)
	}
	after := s
	if s.active() {
		told := p.is.cancel(ctx, s)
		if errors.Is(told, drivers.ErrNothingDone) && !s.in([]phase{busy}) {
			return "", told
		}
		if after, err = p.until(ctx, told, func(s state) bool {
			if told != nil && s.active() && s.Phase != busy { // it may not have heard
				told = p.is.cancel(ctx, s)
			}
			return !s.active()
		}); err != nil {
			if _, help := errors.AsType[*drivers.HelpError](err); !help { // in trouble it prints no more
				return "", fmt.Errorf("it was told to cancel its print, and has not said that it did: %w", drivers.ErrMayAct)
			}
		}
		p.told.Store(nil)
	}
	if after.Phase != offline && p.is.cools() {
		if err := p.is.cool(ctx); err != nil {
			return "", fmt.Errorf("the print is cancelled, and the heaters are not known to be off: %w", err)
		}
	}
	if err := p.begins(); err != nil {
		return "", err
	}
	return remains(s, after, p.is.cools()), nil
}

// remains is what is left behind by a print that was cancelled; none may have been.
func remains(was, now state, cooled bool) string {
	if !was.active() || was.Phase == busy && was.Percent == 0 {
		return map[bool]string{true: "nothing was being printed; the heaters are off", false: "nothing was being printed"}[cooled && now.Phase != offline]
	}
	text := fmt.Sprintf("a half print (%.0f %% of %s) lies on the bed", was.Percent, was.called())
	if was.Layers > 0 {
		text = fmt.Sprintf("a half print (layer %d of %d of %s) lies on the bed", was.Layer, was.Layers, was.called())
	}
	if now.Bed != nil && *now.Bed > 40 {
		text += fmt.Sprintf(", which still has %.0f °C: take it off when that is cold", *now.Bed)
	} else {
		text += ": take it off before the next"
	}
	if cooled {
		return text + "; the heaters are off"
	}
	return text + "; the printer switches its heaters off by itself, so look that it does"
}
