package fleet

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// asker is one requester.
type asker struct {
	id     string
	line   line
	ledger *ledger
}

// follow receives the results of the requests, until ctx ends. It calls up once it receives.
func (a *asker) follow(ctx context.Context, up func()) error {
	up = sync.OnceFunc(up)
	return a.line.listen(ctx, func(context.Context) error { up(); return nil }, func(s incoming) {
		if code := s.status(); code != "" && s.thread() != "" {
			a.ledger.recordStatus(s.thread(), code, time.Now())
		}
	}, func(err error) { a.ledger.failed("follow")(kindOf(err)) })
}

// underWay limits the unanswered requests. Beyond it the exchange is far behind, and
// the report counts the requests that no requester sent.
const underWay = 4096

// send sends requests at a fixed rate. It does not wait for earlier answers, and measures the
// time of each request from the moment when the request was due. After the end of ctx it sends no
// new request. Open requests have until the end of live.
func send(ctx, live context.Context, askers []*asker, c Config, run string, l *ledger) {
	begun := time.Now()
	var sending sync.WaitGroup
	defer sending.Wait()
	places := make(chan struct{}, underWay)
	t := time.NewTimer(0)
	defer t.Stop()
	for i := 0; ; i++ {
		after := time.Duration(float64(i) / c.Rate * float64(time.Second))
		if after >= c.For {
			return
		}
		due := begun.Add(after)
		if pause := time.Until(due); pause > 0 {
			t.Reset(pause)
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
		} else if ctx.Err() != nil {
			return
		}
		select {
		case places <- struct{}{}:
		default:
			l.dropped()
			continue
		}
		a, name := askers[i%len(askers)], fmt.Sprintf("%s-%d", run, i)
		sending.Go(func() {
			defer func() { <-places }()
			got, err := persist(live, a.line, name, request(name, c.capability(i)), l.failed("create"))
			switch {
			case err != nil: // counted
			case got.ErrorCode != "":
				l.failed("create")(got.ErrorCode)
			default:
				l.asked(got.Ref, due)
			}
		})
	}
}
