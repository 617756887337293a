package notices

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

const (
	lookEvery = 5 * time.Second // for executors that have fallen silent
	lookPause = time.Second     // at least, between two looks: the executors of a fleet report all the time
	// startTime is how long executors may take to connect after a start of the exchange.
	startTime = 2 * time.Minute
	// offlineAfter is how long an executor may lose the contact without a notice: a short loss needs
	// nobody.
	offlineAfter = time.Minute
)

// unsafeState is the state of a device that may not be safe after a stop.
const unsafeState = "unsafe"

// followExecutors makes the notices about executors.
func (l *Log) followExecutors(ctx context.Context) {
	began := time.Now()
	silent := map[string]time.Time{} // since when, by executor
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		changed := l.x.ExecutorsChanged()
		list := l.x.Executors()
		noteSilent(silent, list, time.Now())
		if time.Since(began) >= startTime {
			l.noteOffline(ctx, list, silent)
		}
		l.noteUnsafe(ctx, list)
		l.endRemoved(ctx, list)
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-look.C:
		}
		if !wait.For(ctx, lookPause) {
			return
		}
	}
}

// noteSilent updates since when executors have no contact. People come and go: they have no entry.
func noteSilent(silent map[string]time.Time, list []exchange.ExecutorInfo, now time.Time) {
	is := map[string]bool{}
	for _, e := range list {
		if e.Live || exchange.IsPerson(e.Executor) {
			continue
		}
		is[e.ID] = true
		if silent[e.ID].IsZero() {
			silent[e.ID] = now
		}
	}
	for id := range silent {
		if !is[id] {
			delete(silent, id)
		}
	}
}

// noteOffline makes a notice for each executor that has lost its contact, and ends those of the
// others.
func (l *Log) noteOffline(ctx context.Context, list []exchange.ExecutorInfo, silent map[string]time.Time) {
	var changed []Notice
	for _, e := range list {
		since, isSilent := silent[e.ID]
		open, has := l.openOf(Offline, e.ID)
		switch {
		case !isSilent && has:
			changed = append(changed, ended(open))
		case isSilent && !has && time.Since(since) >= offlineAfter:
			changed = append(changed, Notice{
				ID: string(Offline) + "/" + e.ID + "/" + time.Now().UTC().Format(time.RFC3339Nano), Kind: Offline, Executor: e.ID, Name: cmp.Or(e.Name, e.ID),
				Priority: mess.Elevated, At: e.LastSeen,
			})
		}
	}
	l.put(ctx, changed)
}

// noteUnsafe makes a notice for each executor with devices that are not safe after a stop, and ends
// those of the others.
func (l *Log) noteUnsafe(ctx context.Context, list []exchange.ExecutorInfo) {
	var changed []Notice
	for _, e := range list {
		devices, reason := unsafeOf(e)
		open, has := l.openOf(Unsafe, e.ID)
		switch {
		case len(devices) == 0 && has:
			changed = append(changed, ended(open))
		case len(devices) > 0 && has:
			open.Devices, open.Text = devices, reason
			changed = append(changed, open)
		case len(devices) > 0:
			now := time.Now()
			changed = append(changed, Notice{
				ID: string(Unsafe) + "/" + e.ID + "/" + now.UTC().Format(time.RFC3339Nano), Kind: Unsafe, Executor: e.ID, Name: cmp.Or(e.Name, e.ID),
				Devices: devices, Text: reason, Priority: mess.Urgent, At: now,
			})
		}
	}
	l.put(ctx, changed)
}

// unsafeOf returns the devices of an executor that are not safe in its present stop, and the errors
// of their drivers.
func unsafeOf(e exchange.ExecutorInfo) (devices []string, reason string) {
	if e.Stopped == nil || e.Stopped.Reason == "" {
		return nil, ""
	}
	var reasons []string
	for _, d := range e.Stopped.Devices {
		if d.State != unsafeState {
			continue
		}
		devices = append(devices, d.Device)
		if d.Err != "" && !slices.Contains(reasons, d.Err) {
			reasons = append(reasons, d.Err)
		}
	}
	return devices, strings.Join(reasons, "; ")
}

// endRemoved ends the notices about executors that are not registered any more.
func (l *Log) endRemoved(ctx context.Context, list []exchange.ExecutorInfo) {
	var changed []Notice
	l.mu.Lock()
	for _, n := range l.list {
		if n.Ref == "" && n.IsOpen() && !slices.ContainsFunc(list, func(e exchange.ExecutorInfo) bool { return e.ID == n.Executor }) {
			changed = append(changed, ended(n))
		}
	}
	l.mu.Unlock()
	l.put(ctx, changed)
}

// openOf returns the open notice of a kind about an executor.
func (l *Log) openOf(kind Kind, executor string) (Notice, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range slices.Backward(l.list) {
		if n.Kind == kind && n.Executor == executor && n.IsOpen() {
			return n, true
		}
	}
	return Notice{}, false
}

// ended returns a notice that needs nobody from now on.
func ended(n Notice) Notice {
	now := time.Now()
	n.Over = &now
	return n
}
