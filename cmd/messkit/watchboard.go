package main

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/terminal"
	"github.com/messkit/messkit/mess"
)

// How often the board asks for what no event tells, such as executors that have
// fallen silent; and how long it waits for more events before it asks.
const (
	boardPeriod = 5 * time.Second
	boardPause  = 200 * time.Millisecond
)

// maxBoard is how many threads it asks for.
const maxBoard = 200

// watchBoard shows the board on the terminal until ctx ends, and then gives the
// terminal back.
func watchBoard(ctx context.Context, a *output.Env, x *remote.Client, where string) (err error) {
	b := &taskBoard{where: where, said: map[string]*mess.Status{}}
	told, err := tellAll(ctx, x)
	if err != nil {
		return err // what a person should read on the screen they had
	}
	told.to(b)
	size := func() (int, int) { return terminal.Size(a.Screen) }
	screen, err := terminal.OpenScreen(a.Screen, size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, screen.Close()) }()
	resized, forget := terminal.Resized()
	defer forget()

	g, ctx := errgroup.WithContext(ctx)
	events, news, answers := make(chan remote.Event), make(chan struct{}, 1), make(chan snapshot)
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
			if err := screen.Draw(b.lines(time.Now(), columns, rows)); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			case <-resized:
			case told := <-answers:
				told.to(b)
			case e := <-events:
				b.hear(e.Thread.Ref, e.Message)
				select {
				case news <- struct{}{}:
				default:
				}
			}
		}
	})
	return g.Wait()
}

// snapshot is what the exchange tells when it is asked.
type snapshot struct {
	threads   []remote.Thread
	executors []remote.Executor
	said      map[string][]mess.Message // of open threads, at the first time
	err       error
}

// to puts it on the board. Where the exchange did not answer, the board keeps
// what it knew, and says so.
func (s snapshot) to(b *taskBoard) {
	if b.err = s.err; s.err != nil {
		return
	}
	b.threads, b.executors = s.threads, s.executors
	for ref, messages := range s.said {
		b.hear(ref, messages...)
	}
	b.forget()
}

// tellAll asks for all there is, with what was last said in what is open.
func tellAll(ctx context.Context, x *remote.Client) (snapshot, error) {
	s := tell(ctx, x)
	s.said = map[string][]mess.Message{}
	for _, t := range s.threads {
		if s.err == nil && !t.Status.Terminal() {
			var whole remote.Thread
			whole, s.err = x.Thread(ctx, t.Ref)
			s.said[t.Ref] = whole.Messages
		}
	}
	return s, s.err
}

func tell(ctx context.Context, x *remote.Client) (s snapshot) {
	if s.threads, s.err = x.List(ctx, remote.Filter{Limit: maxBoard}); s.err == nil {
		s.executors, s.err = x.Executors(ctx)
	}
	return s
}

// keepAsking asks when there is news, and from time to time.
func keepAsking(ctx context.Context, x *remote.Client, news <-chan struct{}, answers chan<- snapshot) error {
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
