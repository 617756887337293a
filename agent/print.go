package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// print starts a print and follows it to its end. It searches for a print of an earlier run,
// and never starts that again.
func (v verbs) print(ctx context.Context) result {
	p := v.dev.Driver.(drivers.Printer)
	said, _ := v.plan.Args.Get("file")
	file, _ := said.(string)
	if v.began.IsZero() {
		one, err := v.pass.Print(ctx, p, file)
		if err != nil && effectOf(err) != mess.EffectNone && errors.Is(context.Cause(ctx), errCancelled) { // it may have begun
			w := &watched{v: v, p: p, one: drivers.Print{File: file}}
			return w.stop(ctx, errCancelled)
		}
		if err != nil {
			return result{err: err, effect: effectOf(err)}
		}
		return v.follow(ctx, p, one)
	}
	one, err := v.find(ctx, p, file)
	if err != nil && stopped(ctx) {
		return result{err: err, goesOn: true} // the next run looks again
	}
	if err != nil {
		return result{err: fmt.Errorf("the program was ended after it had begun, and its print is not found again: %w", err), effect: mess.EffectUnknown}
	}
	return v.follow(ctx, p, one)
}

// find searches for the print of an earlier run until the printer answers: after a power cut
// the printer may start later than this machine. A print begins some time after its command. A
// cancelled print must be found too.
func (v verbs) find(ctx context.Context, p drivers.Printer, file string) (drivers.Print, error) {
	for began := v.now(); ; {
		look, cancel := aftermath(ctx)
		one, err := v.pass.Find(look, p, file, v.began)
		cancel()
		none := errors.Is(err, drivers.ErrNoPrint) && v.now().Sub(v.began).Abs() > printBegins
		if err == nil || none || v.now().Sub(began) > printSilent {
			return one, err
		}
		t := time.NewTimer(printEvery)
		select {
		case <-ctx.Done():
			t.Stop()
			return one, err
		case <-t.C:
		}
	}
}

// Interval of the readings of a print without another interval of its driver, limit for its
// begin, and limit for an unreachable printer.
const (
	printEvery  = 5 * time.Second
	printBegins = time.Minute
	printSilent = 30 * time.Minute
)

// watched is a print that the agent follows.
type watched struct {
	v      verbs
	p      drivers.Printer
	one    drivers.Print
	state  drivers.PrintState
	heard  time.Time     // time of the printer's last answer
	asked  bool          // the agent has asked a person for help
	answer <-chan string // the answer to that
}

// follow reads a print until it is over, reports progress, and asks for help when the printer
// waits for a person.
func (v verbs) follow(ctx context.Context, p drivers.Printer, one drivers.Print) result {
	w := &watched{v: v, p: p, one: one, heard: v.now()}
	for {
		s, err := v.pass.Printing(ctx, p, one)
		switch {
		case ctx.Err() != nil:
			return w.brokenOff(ctx)
		case err != nil && v.now().Sub(w.heard) > printSilent:
			return w.end(ctx, fmt.Errorf("it has not answered for %v, and may still print: %w", printSilent, err), mess.EffectUnknown)
		case err == nil:
			if s.Over && s.Err != nil { // it no longer reports its progress
				s.Progress, s.Layer, s.Layers = w.state.Progress, w.state.Layer, w.state.Layers
			}
			w.state, w.heard = s, v.now()
			if s.Over {
				return w.end(ctx, s.Err, mess.EffectPartial)
			}
			w.help()
			v.progress(s.Progress)
		default: // keep the activity of the last answer
			v.progress(drivers.Progress{Percent: w.state.Percent, Doing: "out of reach, and asked again; last heard of: " + cmp.Or(w.state.Doing, "starting")})
		}
		t := time.NewTimer(cmp.Or(s.Every, printEvery))
		select {
		case <-ctx.Done():
		case <-t.C:
		case said := <-w.answer:
			switch heed(said) {
			case no:
				t.Stop()
				return w.stop(ctx, errAnswered)
			case yes:
				if err := w.goOn(ctx); err != nil {
					v.progress(drivers.Progress{Percent: w.state.Percent, Doing: "it does not go on: " + err.Error(), Left: w.state.Left})
				}
			default:
				w.asked = false // nothing changes, and another question follows
			}
		}
		t.Stop()
	}
}

// Answers to a printer that waits for a person.
const (
	yes = "go on"
	no  = "cancel"
)

// heed returns which of the two an answer means; "" for any other answer, such as a plain no:
// nothing heats, moves or ends by it.
func heed(said string) string {
	said = strings.ToLower(strings.TrimSpace(said))
	if said == yes || said == no {
		return said
	}
	switch agrees, _, ends := catalog.MatchYesNo(said); {
	case ends:
		return no
	case agrees && !interpret.HasLimit(said):
		return yes
	}
	return ""
}

// help asks the requester once for each wait of the printer. If the print continues by itself,
// help drops the question.
func (w *watched) help() {
	switch h := w.state.Help; {
	case h == nil && w.asked:
		w.asked, w.answer = false, nil
		w.v.unask()
	case h != nil && !w.asked:
		w.asked = true
		w.answer = w.v.ask(forHelp(w.v.dev, h, "printer"))
	}
}

func (w *watched) goOn(ctx context.Context) error {
	w.asked = false
	d, ok := w.v.dev.Driver.(drivers.Pauser)
	if !ok {
		return errors.New("press the button at the printer")
	}
	return w.v.pass.ResumeActivity(ctx, d, w.v.plan)
}

// brokenOff ends following after a cancelled context. The end of the program does not end the
// print; a cancel does, and a stop makes the driver end it.
func (w *watched) brokenOff(ctx context.Context) result {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errCancelled):
		return w.stop(ctx, cause)
	case stopOf(ctx) != nil:
		return w.halted(ctx, cause)
	case errors.Is(cause, errLost):
		return w.ended(errors.New("the claim is over; the printer goes on"), mess.EffectPartial)
	}
	r := w.ended(errors.New("the program ends; the printer goes on"), mess.EffectPartial)
	r.goesOn = true
	return r
}

// halted waits for the end of a print that the driver ends because of a stop.
func (w *watched) halted(ctx context.Context, why error) result {
	after, cancel := aftermath(ctx)
	defer cancel()
	if d, ok := w.v.dev.Driver.(drivers.RestReader); ok {
		for still := false; !still && after.Err() == nil; {
			if still, _ = w.v.pass.AtRest(after, d); !still { // the result below reports it
				wait.For(after, untilNext)
			}
		}
	}
	last, done := aftermath(ctx)
	defer done()
	r := w.ended(why, mess.EffectUnknown)
	if w.v.comeToRest(last, &r); r.rests {
		half := w.ended(why, mess.EffectPartial)
		r.text, r.done, r.left = half.text, half.done, half.left
		r.note("what was printed of it until then lies on the bed")
	}
	return r
}

// stop ends the print and reports its remaining heat or work.
func (w *watched) stop(ctx context.Context, why error) result {
	d, ok := w.v.dev.Driver.(drivers.Stopper)
	if !ok {
		return w.end(ctx, fmt.Errorf("%w; it cannot be stopped from here", why), mess.EffectUnknown)
	}
	after, cancel := aftermath(ctx)
	defer cancel()
	left, err := w.v.pass.StopActivity(after, d)
	if err != nil {
		return w.end(ctx, fmt.Errorf("the printer was told to stop: %w", err), mess.EffectUnknown)
	}
	r := w.end(ctx, why, mess.EffectPartial)
	if left != "" {
		r.note("%s", left)
	}
	return r
}

// end returns the result of the print, with an image if a camera sees the printer.
func (w *watched) end(ctx context.Context, err error, effect mess.Effect) result {
	r := w.ended(err, effect)
	since := w.v.now()
	w.v.acted(r)
	if w.v.dev.SeenBy != "" || w.v.wanted() {
		after, cancel := aftermath(ctx)
		defer cancel()
		v := w.v
		v.plan.Want = append(slices.Clone(v.plan.Want), capabilities.Image)
		v.lookAgain(after, since, &r)
	}
	return r
}

// ended returns the known facts about a print that has ended.
func (w *watched) ended(err error, effect mess.Effect) result {
	s, file := w.state, cmp.Or(w.one.Label, w.one.File)
	r := result{err: err, evidence: mess.ReadBack, yes: new(err == nil)}
	r.facts = mess.Object{{Key: "device", Value: w.v.dev.Name}, {Key: "file", Value: file}}
	if s.Layers > 0 {
		r.facts = r.facts.Set("layer", mess.Number(number(float64(s.Layer)))).Set("layers", mess.Number(number(float64(s.Layers))))
	}
	if err == nil {
		r.text = fmt.Sprintf("The %s has printed %s%s.", w.v.dev.Label, file, inLayers(s))
		return r
	}
	r.effect = effect
	if effect == mess.EffectUnknown {
		return r
	}
	r.done, r.left = parts(file, s)
	r.text = fmt.Sprintf("The %s has printed %s of %s.", w.v.dev.Label, list(r.done), file)
	return r
}

func inLayers(s drivers.PrintState) string {
	if s.Layers == 0 {
		return ""
	}
	return fmt.Sprintf(" in %d layers", s.Layers)
}

// parts returns the completed and the remaining parts of a print, in layers if the printer
// reports them.
func parts(file string, s drivers.PrintState) (done, left []string) {
	switch {
	case s.Layers > 0 && s.Layer > 0 && s.Layer < s.Layers:
		return []string{fmt.Sprintf("layers 1 to %d", s.Layer)}, []string{fmt.Sprintf("layers %d to %d", s.Layer+1, s.Layers)}
	case s.Percent >= 1 && s.Percent < 100:
		return []string{fmt.Sprintf("%.0f %%", s.Percent)}, []string{fmt.Sprintf("%.0f %%", 100-s.Percent)}
	}
	return nil, []string{file}
}
