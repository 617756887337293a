package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// progress passes a driver's progress to the reporting goroutine. It never blocks the driver:
// newer progress replaces older unreported progress.
type progress struct {
	mu     sync.Mutex
	latest drivers.Progress
	news   chan struct{}

	reporting sync.Mutex // held during a report to the thread
	muted     bool       // a question is open, and progress would withdraw it; guarded by reporting
	reported  string     // the last report, "" to repeat it; guarded by reporting
}

func newProgress() *progress { return &progress{news: make(chan struct{}, 1)} }

func (p *progress) set(now drivers.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest = now
	wait.Notify(p.news)
}

func (p *progress) get() drivers.Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.latest
}

// progressEvery is the shortest interval of progress reports. In a long task the interval is a
// thirtieth of the elapsed time: an hour of cleaning gives some 170 messages and not 3600.
const (
	progressEvery = time.Second
	progressPart  = 30
)

// progressText returns the part of progress that is worth a report: the activity and each whole
// percent. A paused device that the agent reads every two seconds has no news.
func progressText(p drivers.Progress) string {
	return fmt.Sprintf("%.0f %s", math.Floor(p.Percent), p.Activity)
}

// reportProgress reports progress until ctx ends, once for each change. It does not repeat a
// failed report; the next one is newer.
func (t *task) reportProgress(ctx context.Context, p *progress) {
	began := t.Now()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-p.news:
		}
		pause.Reset(max(progressEvery, t.Now().Sub(began)/progressPart))
		now := p.get()
		p.reporting.Lock()
		text := progressText(now)
		if p.muted || p.reported == text {
			p.reporting.Unlock()
			continue
		}
		s := &mess.Status{Code: mess.InProgress, Message: now.Activity, ProgressPct: new(min(100, max(0, now.Percent)))}
		if now.TimeLeft > 0 {
			s.ETA = mess.TimeOrDuration(mess.DurationOf(now.TimeLeft))
		}
		_, err := t.Session.Send(ctx, t.message(s))
		if err == nil {
			p.reported = text
		}
		p.reporting.Unlock()
		if errors.Is(err, mess.StaleToken) {
			t.all.mu.Lock()
			t.cancelWork(runtime.ErrLost)
			t.all.mu.Unlock()
		}
	}
}

// askDuringTask asks the requester during a task and waits for the answer until ctx ends.
func (t *task) askDuringTask(ctx context.Context, p *progress, q mess.Question) (answer string, err error) {
	p.reporting.Lock()
	p.muted = true
	err = t.sendStatus(ctx, &mess.Status{Code: mess.NeedsInput, Questions: []mess.Question{q}})
	p.reporting.Unlock()
	if err != nil {
		return "", err
	}
	reply, err := await(ctx, t, answerTo(q.Field))
	p.unmute()
	if err != nil {
		return "", err
	}
	value, _ := reply.answers.Get(q.Field)
	switch v := value.(type) {
	case string:
		answer = v
	case bool:
		answer = map[bool]string{true: "yes", false: "no"}[v]
	}
	return cmp.Or(answer, reply.text), nil
}

func (p *progress) unmute() {
	p.reporting.Lock()
	defer p.reporting.Unlock()
	p.muted, p.reported = false, ""
}
