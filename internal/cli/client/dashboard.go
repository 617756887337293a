package client

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/terminal"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// How often the board asks for what no event tells, such as executors that have
// fallen silent; and how long it waits for more events before it asks.
const (
	boardPeriod = 5 * time.Second
	boardPause  = 200 * time.Millisecond
)

// MaxBoard is how many threads it asks for.
const MaxBoard = 200

// WatchBoard shows the board on the terminal until ctx ends, and then gives the
// terminal back.
func WatchBoard(ctx context.Context, a *output.Env, x *remote.Client, where string) (err error) {
	b := &TaskBoard{Where: where, Said: map[string]*mess.Status{}}
	told, err := tellAll(ctx, x)
	if err != nil {
		return err // what a person should read on the screen they had
	}
	told.To(b)
	size := func() (int, int) { return terminal.Size(a.Screen) }
	screen, err := terminal.OpenScreen(a.Screen, size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, screen.Close()) }()
	resized, forget := terminal.Resized()
	defer forget()

	g, ctx := errgroup.WithContext(ctx)
	events, news, answers := make(chan remote.Event), make(chan struct{}, 1), make(chan Snapshot)
	g.Go(func() error {
		return x.Follow(ctx, "", func(e remote.Event) error {
			select {
			case events <- e:
			case <-ctx.Done():
			}
			return nil
		})
	})
	g.Go(func() error { return keepAsking(ctx, x, news, answers) })
	g.Go(func() error {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			columns, rows := size()
			if err := screen.Draw(b.Lines(time.Now(), columns, rows)); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			case <-resized:
			case told := <-answers:
				told.To(b)
			case e := <-events:
				b.Hear(e.Thread.Ref, e.Message)
				wait.Notify(news)
			}
		}
	})
	return g.Wait()
}

// Snapshot is what the exchange tells when it is asked.
type Snapshot struct {
	Threads   []remote.Thread
	executors []remote.Executor
	said      map[string][]mess.Message // of open threads, at the first time
	Err       error
}

// To puts it on the board. Where the exchange did not answer, the board keeps
// what it knew, and says so.
func (s Snapshot) To(b *TaskBoard) {
	if b.err = s.Err; s.Err != nil {
		return
	}
	b.Threads, b.Executors = s.Threads, s.executors
	for ref, messages := range s.said {
		b.Hear(ref, messages...)
	}
	b.forget()
}

// tellAll asks for all there is, with what was last said in what is open.
func tellAll(ctx context.Context, x *remote.Client) (Snapshot, error) {
	s := tell(ctx, x)
	s.said = map[string][]mess.Message{}
	for _, t := range s.Threads {
		if s.Err == nil && !t.Status.Terminal() {
			var whole remote.Thread
			whole, s.Err = x.Thread(ctx, t.Ref)
			s.said[t.Ref] = whole.Messages
		}
	}
	return s, s.Err
}

func tell(ctx context.Context, x *remote.Client) (s Snapshot) {
	if s.Threads, s.Err = x.List(ctx, remote.Filter{Limit: MaxBoard}); s.Err == nil {
		s.executors, s.Err = x.Executors(ctx)
	}
	return s
}

// keepAsking asks when there is news, and from time to time.
func keepAsking(ctx context.Context, x *remote.Client, news <-chan struct{}, answers chan<- Snapshot) error {
	period := time.NewTicker(boardPeriod)
	defer period.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-period.C:
		case <-news:
		}
		select {
		case answers <- tell(ctx, x):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause := time.NewTimer(boardPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		case <-pause.C:
		}
	}
}
