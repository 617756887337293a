package stop

import (
	"context"
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
	files *fsnotify.Watcher // nil: the kernel does not tell
	tick  *time.Ticker
}

func watch(dir string, log *slog.Logger) *watcher {
	err := os.MkdirAll(dir, 0o700)
	var files *fsnotify.Watcher
	if err == nil {
		files, err = fsnotify.NewWatcher()
	}
	if err == nil {
		err = files.Add(dir)
	}
	if err != nil {
		log.Warn("the folder of the stop is looked at often, since the kernel does not tell of changes", "err", err)
		if files != nil {
			_ = files.Close() // nothing is in it
		}
		return &watcher{tick: time.NewTicker(lookAlways)}
	}
	return &watcher{files: files, tick: time.NewTicker(lookEvery)}
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
	if w.files != nil {
		_ = w.files.Close() // nothing is in it
	}
}
