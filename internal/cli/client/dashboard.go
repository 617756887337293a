package client

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/terminal"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// The interval at which the board asks the exchange for changes without an event, such as a
// silent executor; and the time that it collects events before it asks.
const (
	boardPeriod = 5 * time.Second
	boardPause  = 200 * time.Millisecond
)

// MaxBoard is the number of threads that the board asks for.
const MaxBoard = 200

// WatchBoard shows the board on the terminal until ctx ends, and then restores the terminal.
func WatchBoard(ctx context.Context, a *output.Env, x *httpclient.Client, where string) (err error) {
	b := &TaskBoard{Where: where, LastStatus: map[string]*mess.Status{}}
	snapshot, err := fetchThreads(ctx, x)
	if err != nil {
		return err // the person should read the error on the normal screen
	}
	snapshot.To(b)
	size := func() (int, int) { return terminal.Size(a.Screen) }
	screen, err := terminal.OpenScreen(a.Screen, size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, screen.Close()) }()
	resized, forget := terminal.Resized()
	defer forget()

	g, ctx := errgroup.WithContext(ctx)
	events, news, answers := make(chan httpclient.Event), make(chan struct{}, 1), make(chan Snapshot)
	g.Go(func() error {
		return x.Follow(ctx, "", func(e httpclient.Event) error {
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
			case snapshot := <-answers:
				snapshot.To(b)
			case e := <-events:
				b.AddMessages(e.Thread.Ref, e.Message)
				wait.Notify(news)
			}
		}
	})
	return g.Wait()
}

// Snapshot is the state of the exchange at one time.
type Snapshot struct {
	Threads   []httpclient.Thread
	executors []httpclient.Executor
	messages  map[string][]mess.Message // messages of open threads, on the first request only
	Err       error
}

// To updates the board with the snapshot. If the exchange did not answer, the board keeps its
// state and shows the error.
func (s Snapshot) To(b *TaskBoard) {
	if b.err = s.Err; s.Err != nil {
		return
	}
	b.Threads, b.Executors = s.Threads, s.executors
	for ref, messages := range s.messages {
		b.AddMessages(ref, messages...)
	}
	b.forget()
}

// fetchThreads asks for all threads, with the messages of the open ones.
func fetchThreads(ctx context.Context, x *httpclient.Client) (Snapshot, error) {
	s := fetchSnapshot(ctx, x)
	s.messages = map[string][]mess.Message{}
	for _, t := range s.Threads {
		if s.Err == nil && !t.Status.Terminal() {
			var whole httpclient.Thread
			whole, s.Err = x.Thread(ctx, t.Ref)
			s.messages[t.Ref] = whole.Messages
		}
	}
	return s, s.Err
}

func fetchSnapshot(ctx context.Context, x *httpclient.Client) (s Snapshot) {
	if s.Threads, s.Err = x.List(ctx, httpclient.Filter{Limit: MaxBoard}); s.Err == nil {
		s.executors, s.Err = x.Executors(ctx)
	}
	return s
}

// keepAsking asks after each event, and at regular intervals.
func keepAsking(ctx context.Context, x *httpclient.Client, news <-chan struct{}, answers chan<- Snapshot) error {
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
		case answers <- fetchSnapshot(ctx, x):
		case <-ctx.Done():
			return ctx.Err()
		}
		if !wait.For(ctx, boardPause) {
			return ctx.Err()
		}
	}
}
