package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// worker is one executor.
type worker struct {
	id         string
	capability string
	line       line
	ledger     *ledger
	beats      bool // it sends heartbeats

	work sync.WaitGroup // tasks in progress

	mu    sync.Mutex
	holds map[string]uint64 // epochs of the claims that it holds, by thread
}

// holding lists the claims of the executor, nil if it sends no heartbeats.
func (w *worker) holding() []claim {
	if !w.beats {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	list := []claim{}
	for ref, epoch := range w.holds {
		list = append(list, claim{ref, epoch})
	}
	return list
}

// hold records a claim. The heartbeats renew its lease.
func (w *worker) hold(ref string, epoch uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holds == nil {
		w.holds = map[string]uint64{}
	}
	w.holds[ref] = epoch
}

func (w *worker) letGo(ref string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.holds, ref)
}

// run registers the executor and executes the offered requests, until ctx ends. It calls up after
// the first registration.
func (w *worker) run(ctx context.Context, up func()) error {
	defer w.work.Wait()
	up = sync.OnceFunc(up)
	var ups atomic.Int64
	ready := func(ctx context.Context) error {
		name := fmt.Sprintf("up-%d-%s", ups.Add(1), w.id)
		a, err := persist(ctx, w.line, name, profile(name, w.id, w.capability, w.holding()), w.ledger.failed("register"))
		if err == nil && a.ErrorCode != "" {
			w.ledger.failed("register")(a.ErrorCode)
			err = errors.New(a.Error)
		}
		if err == nil {
			up()
		}
		return err
	}
	return w.line.listen(ctx, ready, func(s incoming) {
		if s.offers(w.capability) {
			w.work.Go(func() { w.take(ctx, s.thread()) })
		}
	}, func(err error) { w.ledger.failed("listen")(kindOf(err)) })
}

// take claims, starts and completes one request. It gives up after a refusal of the exchange,
// as an executor must.
func (w *worker) take(ctx context.Context, ref string) {
	defer w.letGo(ref)
	for _, code := range []string{"claimed", "in_progress", "completed"} {
		name := code[:2] + "-" + w.id + "-" + ref
		a, err := persist(ctx, w.line, name, update(name, ref, code), w.ledger.failed(code))
		switch {
		case err != nil:
			return // the report has it
		case a.ErrorCode == "taken" || code == "claimed" && a.ErrorCode == "illegal": // another executor has the request
			w.ledger.lostRace()
			return
		case a.ErrorCode != "":
			w.ledger.failed(code)(a.ErrorCode)
			return
		}
		if code == "claimed" {
			w.hold(ref, a.Epoch)
		}
		w.ledger.granted(ref, w.id, code)
	}
}

// beat sends the heartbeats of all executors, one after the other, until ctx ends.
func beat(ctx context.Context, workers []*worker, every time.Duration, l *ledger) {
	if every == 0 || len(workers) == 0 {
		return
	}
	t := time.NewTicker(max(every/time.Duration(len(workers)), time.Microsecond))
	defer t.Stop()
	var sending sync.WaitGroup
	defer sending.Wait()
	places := make(chan struct{}, beatsAtOnce)
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		select {
		case places <- struct{}{}:
		default:
			l.failed("heartbeat")("not sent, since too many were under way")
			continue
		}
		w := workers[i%len(workers)]
		sending.Go(func() {
			defer func() { <-places }()
			name := fmt.Sprintf("beat-%d-%s", i, w.id)
			one, cancel := context.WithTimeout(ctx, answerTime)
			defer cancel()
			a, err := w.line.post(one, name, heartbeat(name, w.id, w.holding()))
			switch {
			case ctx.Err() != nil:
			case err != nil:
				l.failed("heartbeat")(kindOf(err))
			case a.ErrorCode != "":
				l.failed("heartbeat")(a.ErrorCode)
			}
		})
	}
}

// beatsAtOnce is the largest number of concurrent heartbeats.
const beatsAtOnce = 256
