package selftest_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/selftest"
)

// serve answers for a folder until the test ends.
func serve(t *testing.T, folder string, use func(context.Context, selftest.Query) selftest.Response) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var g errgroup.Group
	g.Go(func() error { return selftest.Serve(ctx, folder, use, slog.New(slog.DiscardHandler)) })
	t.Cleanup(func() {
		cancel()
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// ask asks until somebody answers.
func ask(t *testing.T, folder string, q selftest.Query) selftest.Response {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		a, err := selftest.Ask(t.Context(), folder, q)
		if err == nil {
			return a
		}
		if !errors.Is(err, selftest.ErrNotRunning) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func TestAsk(t *testing.T) {
	folder := t.TempDir()
	if _, err := selftest.Ask(t.Context(), folder, selftest.Query{}); !errors.Is(err, selftest.ErrNotRunning) {
		t.Errorf("without a running agent: %v, want ErrNotRunning", err)
	}
	serve(t, folder, func(_ context.Context, q selftest.Query) selftest.Response {
		a := selftest.Response{Config: "/etc/messkit.yaml"}
		for _, d := range q.Devices {
			a.Devices = append(a.Devices, selftest.Result{Device: d, Used: true, Text: "is on"})
		}
		return a
	})
	cam := selftest.Device{Name: "cam", Settings: "1"}
	a := ask(t, folder, selftest.Query{Devices: []selftest.Device{cam}})
	if a.Config != "/etc/messkit.yaml" || len(a.Devices) != 1 || a.Devices[0] != (selftest.Result{Device: cam, Used: true, Text: "is on"}) {
		t.Errorf("got %+v", a)
	}
	if _, err := selftest.Ask(t.Context(), folder, selftest.Query{Devices: []selftest.Device{{Name: "cam"}}}); !errors.Is(err, selftest.ErrRejected) {
		t.Errorf("a device without its settings: %v", err)
	}
	if _, err := selftest.Ask(t.Context(), t.TempDir(), selftest.Query{}); !errors.Is(err, selftest.ErrNotRunning) {
		t.Errorf("another folder: %v", err)
	}
}

// The end of Serve also ends its questions.
func TestAskEnds(t *testing.T) {
	folder, asked := t.TempDir(), make(chan struct{}, 1)
	serve(t, folder, func(ctx context.Context, _ selftest.Query) selftest.Response {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return selftest.Response{}
	})
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		for {
			_, err := selftest.Ask(ctx, folder, selftest.Query{})
			if ctx.Err() != nil {
				return nil
			}
			if !errors.Is(err, selftest.ErrNotRunning) {
				return err
			}
		}
	})
	select {
	case <-asked:
	case <-time.After(time.Minute):
		t.Error("the agent did not receive the query")
	}
	cancel()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}
