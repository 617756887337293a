package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/terminal"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// FollowOptions are the settings for following a thread to its end.
type FollowOptions struct {
	Wait     bool // follow it at all
	SaveDir  string
	SkipPast bool // do not print earlier messages
	AsJSON   bool

	Look, Absent time.Duration // interval of checks, and longest absence of the exchange; 0: the defaults
}

// Flags adds the flags for the wait, and for the folder of images and files, to a command.
func (w *FollowOptions) Flags(c *cobra.Command) {
	c.Flags().BoolVarP(&w.Wait, "wait", "w", false, "show progress until the end")
	c.Flags().StringVar(&w.SaveDir, "save", ".", "folder for images and files")
}

// errEnded stops following the events: the thread has ended.
var errEnded = errors.New("ended")

// Follow prints the messages of a thread until its end, passes the executor's questions to the
// person at the terminal, and saves the attachments. It returns an error for every terminal
// status but completed.
func Follow(ctx context.Context, a *output.Env, x *httpclient.Client, ref string, w *FollowOptions) error {
	f := NewFollower(a, x, ref, w)
	if w.SkipPast {
		if err := f.skip(ctx); err != nil {
			return err
		}
	}
	err := f.Look(ctx)
	if err == nil {
		err = f.run(ctx)
	}
	if f.live != nil {
		err = errors.Join(err, f.live.Draw())
	}
	return f.end(ctx, errors.Join(err, f.withdrawQuestion()))
}

// Follower follows one thread, in one goroutine.
type Follower struct {
	app    *output.Env
	x      *httpclient.Client
	ref    string
	w      *FollowOptions
	out    io.Writer
	seen   map[string]bool // refs of messages
	thread httpclient.Thread

	live   *terminal.Live // nil: not on a terminal
	began  time.Time
	asking *OpenQuestion // the present question to the person at the terminal; nil: none
	keys   keyboard
	no     map[string]string // reason of each executor that has declined
	Away   time.Time         // begin of the exchange's absence; zero: it answers
}

// NewFollower makes a follower of the thread ref. It reads nothing yet.
func NewFollower(a *output.Env, x *httpclient.Client, ref string, w *FollowOptions) *Follower {
	f := &Follower{app: a, x: x, ref: ref, w: w, out: a.Out, seen: map[string]bool{}, no: map[string]string{}, began: time.Now()}
	if a.Screen != nil && !w.AsJSON {
		f.live = terminal.NewLive(a.Screen, a.Columns)
		f.out = f.live
	}
	return f
}

// run reads the thread after each event, until its end. Concurrently it handles the keyboard and
// draws the progress.
func (f *Follower) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	news := make(chan struct{}, 1)
	g.Go(func() error {
		return f.x.Follow(ctx, "", func(e httpclient.Event) error {
			if e.Thread.Ref == "" || e.Thread.Ref == f.ref {
				wait.Notify(news) // one signal is enough: the thread has every message
			}
			return nil
		})
	})
	g.Go(func() error { return f.listen(ctx, news) })
	return g.Wait()
}

func (f *Follower) listen(ctx context.Context, news <-chan struct{}) error {
	redraw, stop := f.redraws()
	defer stop()
	period := time.NewTicker(cmp.Or(f.w.Look, lookPeriod))
	defer period.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-news:
			err = f.Look(ctx)
		case <-period.C:
			err = f.Look(ctx)
		case line := <-f.keys.lines:
			err = f.typed(ctx, line)
		case <-redraw:
			err = f.draw()
		}
		if err != nil {
			return err
		}
	}
}

// skip marks all earlier messages as printed.
func (f *Follower) skip(ctx context.Context) error {
	t, err := f.x.Thread(ctx, f.ref)
	for i, m := range t.Messages {
		f.seen[messageKey(i, m)] = true
	}
	return err
}

func messageKey(i int, m mess.Message) string {
	if m.Ref != "" {
		return m.Ref
	}
	return fmt.Sprint(i) // acks have no ref; a thread only grows
}

// Look prints new messages. It returns errEnded when the thread has ended.
func (f *Follower) Look(ctx context.Context) error {
	t, err := f.x.Thread(ctx, f.ref)
	if errors.Is(err, mess.Unavailable) {
		return f.recordAbsence(ctx, err)
	}
	if err = errors.Join(err, f.back()); err != nil {
		return err
	}
	f.thread = t
	for i, m := range t.Messages {
		key := messageKey(i, m)
		if f.seen[key] {
			continue
		}
		f.seen[key] = true
		if err := f.show(ctx, m); err != nil {
			return err
		}
	}
	if t.Status.Terminal() {
		return errors.Join(f.withdrawQuestion(), errEnded)
	}
	return errors.Join(f.ask(), f.draw())
}

func (f *Follower) show(ctx context.Context, m mess.Message) error {
	if f.w.AsJSON {
		return f.Save(ctx, m)
	}
	if f.live != nil && inPlace(m) {
		return nil // the line of progress shows it
	}
	if err := f.withdrawQuestion(); err != nil {
		return err
	}
	p := output.Printer{Out: f.out, Declined: f.no}
	p.Message(m)
	if p.Err != nil {
		return p.Err
	}
	return f.Save(ctx, m)
}

// end returns the error for the exit code.
func (f *Follower) end(ctx context.Context, err error) error {
	if !errors.Is(err, errEnded) {
		if ctx.Err() != nil {
			return output.Hint(fmt.Errorf("%s: it continues without you", f.ref), "messkit show %s shows the result, messkit cancel %s stops it", f.ref, f.ref)
		}
		return err
	}
	if f.w.AsJSON {
		if err := f.app.JSON(output.ThreadJSON(f.thread)); err != nil {
			return err
		}
	}
	if f.thread.Status != mess.Completed {
		return output.ErrQuiet
	}
	return nil
}
