package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// print starts a print and follows it to its end. It searches for a print of an earlier run,
// and never starts that again.
func (run Run) print(ctx context.Context) Result {
	p := run.Device.Driver.(drivers.Printer)
	value, _ := run.Plan.Args.Get("file")
	file, _ := value.(string)
	if run.Began.IsZero() {
		one, err := run.Pass.Print(ctx, p, file)
		if err != nil && effectOf(err) != mess.EffectNone && errors.Is(context.Cause(ctx), runtime.ErrCancelled) { // it may have begun
			w := &printMonitor{run: run, p: p, job: drivers.Print{File: file}}
			return w.stop(ctx, runtime.ErrCancelled)
		}
		if err != nil {
			return Result{Err: err, Effect: effectOf(err)}
		}
		return run.follow(ctx, p, one)
	}
	one, err := run.find(ctx, p, file)
	if err != nil && runtime.ProgramEnds(ctx) {
		return Result{Err: err, Continues: true} // the next run searches again
	}
	if err != nil {
		return Result{Err: fmt.Errorf("the program ended after the task had begun, and the agent cannot find its print again: %w", err), Effect: mess.EffectUnknown}
	}
	return run.follow(ctx, p, one)
}

// find searches for the print of an earlier run until the printer answers: after a power cut
// the printer may start later than this machine. A print begins some time after its command. A
// cancelled print must be found too.
func (run Run) find(ctx context.Context, p drivers.Printer, file string) (drivers.Print, error) {
	for began := run.Now(); ; {
		readCtx, cancel := readbackContext(ctx)
		one, err := run.Pass.FindPrint(readCtx, p, file, run.Began)
		cancel()
		none := errors.Is(err, drivers.ErrNoPrint) && run.Now().Sub(run.Began).Abs() > printBeginLimit
		if err == nil || none || run.Now().Sub(began) > printSilenceLimit {
			return one, err
		}
		t := time.NewTimer(printPollInterval)
		select {
		case <-ctx.Done():
			t.Stop()
			return one, err
		case <-t.C:
		}
	}
}

// Interval of the readings of a print whose driver suggests none, time from a command to the begin
// of the print, and time for which the printer may not answer.
const (
	printPollInterval = 5 * time.Second
	printBeginLimit   = time.Minute
	printSilenceLimit = 30 * time.Minute
)

// printMonitor is a print that the agent follows.
type printMonitor struct {
	run        Run
	p          drivers.Printer
	job        drivers.Print
	state      drivers.PrintState
	lastAnswer time.Time     // time of the printer's last answer
	asked      bool          // the agent has asked a person for help
	answer     <-chan string // receives the answer; nil without a question
}

// follow reads a print until it is over, reports progress, and asks for help when the printer
// waits for a person.
func (run Run) follow(ctx context.Context, p drivers.Printer, one drivers.Print) Result {
	w := &printMonitor{run: run, p: p, job: one, lastAnswer: run.Now()}
	for {
		s, err := run.Pass.PrintState(ctx, p, one)
		switch {
		case ctx.Err() != nil:
			return w.interrupted(ctx)
		case err != nil && run.Now().Sub(w.lastAnswer) > printSilenceLimit:
			return w.finish(ctx, fmt.Errorf("it has not answered for %v, and may still print: %w", printSilenceLimit, err), mess.EffectUnknown)
		case err == nil:
			if s.Finished && s.Err != nil { // it no longer reports its progress
				s.Progress, s.Layer, s.Layers = w.state.Progress, w.state.Layer, w.state.Layers
			}
			w.state, w.lastAnswer = s, run.Now()
			if s.Finished {
				return w.finish(ctx, s.Err, mess.EffectPartial)
			}
			w.askForHelp()
			run.Progress(s.Progress)
		default: // keep the activity of the last answer
			run.Progress(drivers.Progress{Percent: w.state.Percent, Activity: "out of reach, and asked again; last report: " + cmp.Or(w.state.Activity, "starting")})
		}
		t := time.NewTimer(cmp.Or(s.PollInterval, printPollInterval))
		select {
		case <-ctx.Done():
		case <-t.C:
		case text := <-w.answer:
			switch parseHelpAnswer(text) {
			case answerCancel:
				t.Stop()
				return w.stop(ctx, ErrAnsweredCancel)
			case answerContinue:
				if err := w.resume(ctx); err != nil {
					run.Progress(drivers.Progress{Percent: w.state.Percent, Activity: "it does not go on: " + err.Error(), TimeLeft: w.state.TimeLeft})
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
	answerContinue = "go on"
	answerCancel   = "cancel"
)

// parseHelpAnswer returns answerContinue or answerCancel if the text means that. It returns "" for
// any other text, such as a plain no: then nothing heats, moves or ends.
func parseHelpAnswer(answer string) string {
	answer = strings.ToLower(strings.TrimSpace(answer))
	if answer == answerContinue || answer == answerCancel {
		return answer
	}
	switch agrees, _, withdraws := catalog.MatchYesNo(answer); {
	case withdraws:
		return answerCancel
	case agrees && !interpret.HasLimit(answer):
		return answerContinue
	}
	return ""
}

// askForHelp asks the requester once for each wait of the printer. If the print continues on
// its own, askForHelp withdraws the question.
func (w *printMonitor) askForHelp() {
	switch h := w.state.Help; {
	case h == nil && w.asked:
		w.asked, w.answer = false, nil
		w.run.WithdrawQuestion()
	case h != nil && !w.asked:
		w.asked = true
		w.answer = w.run.Ask(helpQuestion(w.run.Device, h, "printer"))
	}
}

func (w *printMonitor) resume(ctx context.Context) error {
	w.asked = false
	d, ok := w.run.Device.Driver.(drivers.Pauser)
	if !ok {
		return errors.New("press the button at the printer")
	}
	return w.run.Pass.ResumeActivity(ctx, d, w.run.Plan)
}

// interrupted ends following after a cancelled context. The end of the program does not end the
// print; a cancel does, and a stop makes the driver end it.
func (w *printMonitor) interrupted(ctx context.Context) Result {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, runtime.ErrCancelled):
		return w.stop(ctx, cause)
	case runtime.StopOf(ctx) != nil:
		return w.halted(ctx, cause)
	case errors.Is(cause, runtime.ErrLost):
		return w.endFacts(errors.New("the claim is over; the printer goes on"), mess.EffectPartial)
	}
	r := w.endFacts(errors.New("the program ends; the printer goes on"), mess.EffectPartial)
	r.Continues = true
	return r
}

// halted waits for the end of a print that the driver ends because of a stop.
func (w *printMonitor) halted(ctx context.Context, cause error) Result {
	after, cancel := readbackContext(ctx)
	defer cancel()
	if d, ok := w.run.Device.Driver.(drivers.RestReader); ok {
		for still := false; !still && after.Err() == nil; {
			if still, _ = w.run.Pass.AtRest(after, d); !still { // the result below reports it
				wait.For(after, readbackInterval)
			}
		}
	}
	last, done := readbackContext(ctx)
	defer done()
	r := w.endFacts(cause, mess.EffectUnknown)
	if w.run.checkStandstill(last, &r); r.StandsStill {
		partial := w.endFacts(cause, mess.EffectPartial)
		r.Text, r.Done, r.Remaining = partial.Text, partial.Done, partial.Remaining
		r.Note("the printed part lies on the bed")
	}
	return r
}

// stop ends the print and reports its remaining heat or work.
func (w *printMonitor) stop(ctx context.Context, cause error) Result {
	d, ok := w.run.Device.Driver.(drivers.Stopper)
	if !ok {
		return w.finish(ctx, fmt.Errorf("%w; the agent cannot stop it", cause), mess.EffectUnknown)
	}
	after, cancel := readbackContext(ctx)
	defer cancel()
	left, err := w.run.Pass.StopActivity(after, d)
	if err != nil {
		return w.finish(ctx, fmt.Errorf("the agent asked the printer to stop: %w", err), mess.EffectUnknown)
	}
	r := w.finish(ctx, cause, mess.EffectPartial)
	if left != "" {
		r.Note("%s", left)
	}
	return r
}

// finish returns the result of the print, with an image if a camera sees the printer.
func (w *printMonitor) finish(ctx context.Context, err error, effect mess.Effect) Result {
	r := w.endFacts(err, effect)
	since := w.run.Now()
	w.run.Acted(r)
	if w.run.Device.SeenBy != "" || w.run.wantsImage() {
		after, cancel := readbackContext(ctx)
		defer cancel()
		run := w.run
		run.Plan.Want = append(slices.Clone(run.Plan.Want), capabilities.Image)
		run.captureAfter(after, since, &r)
	}
	return r
}

// endFacts returns the known facts about a print that has ended.
func (w *printMonitor) endFacts(err error, effect mess.Effect) Result {
	s, file := w.state, cmp.Or(w.job.Label, w.job.File)
	r := Result{Err: err, Evidence: mess.ReadBack, Yes: new(err == nil)}
	r.Facts = mess.Object{{Key: "device", Value: w.run.Device.Name}, {Key: "file", Value: file}}
	if s.Layers > 0 {
		r.Facts = r.Facts.Set("layer", mess.Number(wording.Number(float64(s.Layer)))).Set("layers", mess.Number(wording.Number(float64(s.Layers))))
	}
	if err == nil {
		r.Text = fmt.Sprintf("The %s has printed %s%s.", w.run.Device.Label, file, layersText(s))
		return r
	}
	r.Effect = effect
	if effect == mess.EffectUnknown {
		return r
	}
	r.Done, r.Remaining = parts(file, s)
	r.Text = fmt.Sprintf("The %s has printed %s of %s.", w.run.Device.Label, wording.List(r.Done), file)
	return r
}

func layersText(s drivers.PrintState) string {
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
