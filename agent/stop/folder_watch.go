package stop

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Intervals for reading the folder: in addition to the kernel's events, and without them.
const (
	readInterval              = time.Second
	readIntervalWithoutEvents = 50 * time.Millisecond
)

// watcher reports when to read a folder.
type watcher struct {
	dir   string
	log   *slog.Logger
	is    fs.FileInfo       // the watched folder; nil: none
	files *fsnotify.Watcher // nil: the kernel sends no events
	tick  *time.Ticker
	often bool // the log has the warning about frequent reading
}

func watch(dir string, log *slog.Logger) *watcher {
	w := &watcher{dir: dir, log: log, tick: time.NewTicker(readInterval)}
	w.follow()
	return w
}

// follow watches the folder that has the name now, and creates it before its first use.
func (w *watcher) follow() {
	is, err := os.Stat(w.dir)
	if err == nil && w.is != nil && os.SameFile(is, w.is) {
		return
	}
	w.leave()
	if err != nil {
		if err = createFolder(w.dir); err == nil {
			is, err = os.Stat(w.dir)
		}
	}
	if w.is = nil; err == nil {
		w.is = is
		w.files, err = fsnotify.NewWatcher()
	}
	if err == nil {
		err = w.files.Add(w.dir)
	}
	if err == nil {
		w.tick.Reset(readInterval)
		w.often = false
		return
	}
	w.leave()
	w.tick.Reset(readIntervalWithoutEvents)
	if !w.often {
		w.log.Warn("the kernel reports no changes of the folder of the stop; reading it every 50 ms", "err", err)
	}
	w.often = true
}

// leave ends the kernel's events.
func (w *watcher) leave() {
	if w.files != nil {
		_ = w.files.Close() // the error does not matter
	}
	w.files = nil
}

// wait waits until it is time to read the folder; it returns false after ctx has ended.
func (w *watcher) wait(ctx context.Context, ring <-chan struct{}) bool {
	var events <-chan fsnotify.Event
	var errs <-chan error
	if w.files != nil {
		events, errs = w.files.Events, w.files.Errors
	}
	select {
	case <-ctx.Done():
		return false
	case <-ring:
	case <-events:
	case <-errs: // the kernel dropped events; a read replaces them
	case <-w.tick.C:
	}
	return true
}

func (w *watcher) close() {
	w.tick.Stop()
	w.leave()
}
