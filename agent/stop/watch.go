package stop

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/fsnotify/fsnotify"
)

// How often the folder is looked at, beside the kernel's word that something
// has changed there, and without that.
const (
	lookEvery  = time.Second
	lookAlways = 50 * time.Millisecond
)

// watcher tells that a folder is worth a look.
type watcher struct {
	dir   string
	log   *slog.Logger
	is    fs.FileInfo       // the folder that is followed; nil: there is none
	files *fsnotify.Watcher // nil: the kernel does not tell
	tick  *time.Ticker
	often bool // it was said that it is looked at often
}

func watch(dir string, log *slog.Logger) *watcher {
	w := &watcher{dir: dir, log: log, tick: time.NewTicker(lookEvery)}
	w.follow()
	return w
}

// follow has the kernel tell of changes in the folder that has the name now,
// which is made where there was none.
func (w *watcher) follow() {
	is, err := os.Stat(w.dir)
	if err == nil && w.is != nil && os.SameFile(is, w.is) {
		return
	}
	w.leave()
	if err != nil {
		if err = begin(w.dir); err == nil {
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
		w.tick.Reset(lookEvery)
		w.often = false
		return
	}
	w.leave()
	w.tick.Reset(lookAlways)
	if !w.often {
		w.log.Warn("the folder of the stop is looked at often, since the kernel does not tell of changes", "err", err)
	}
	w.often = true
}

// leave ends what the kernel tells.
func (w *watcher) leave() {
	if w.files != nil {
		_ = w.files.Close() // nothing is in it
	}
	w.files = nil
}

// wait waits until it is time to look; false when ctx has ended.
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
	case <-errs: // events were lost; a look finds what they told
	case <-w.tick.C:
	}
	return true
}

func (w *watcher) close() {
	w.tick.Stop()
	w.leave()
}
