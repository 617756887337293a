//go:build unix

package watchdog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/watchdog"
	"github.com/messkit/messkit/internal/durable"
)

// Handover is how a guard whose agent is gone, and which only waits until
// something's time is over, leaves that to the guard of the next run: that one
// finds it by the lock on a file, sends it SIGUSR1, and reads in the file what
// is left. Without the file there is none, and the old guard waits.
type Handover struct {
	name   string
	log    *slog.Logger
	held   chan *os.File // our lock
	others errgroup.Group
}

// willSize is how much of the file is reserved, so that a full disk keeps
// nothing from being left: the orders of some fifty devices.
const willSize = 16 << 10 // bytes

// TakeOver makes g the successor of the guard that has the file, and leaves the
// file to the next one.
func TakeOver(name string, g *watchdog.Watchdog, log *slog.Logger) *Handover {
	s := &Handover{name: name, log: log, held: make(chan *os.File, 1)}
	called := make(chan os.Signal, 1)
	signal.Notify(called, syscall.SIGUSR1)
	s.others.Go(func() error {
		for range called {
			g.Yield()
		}
		return nil
	})
	g.ExpectHandover()
	s.others.Go(func() error {
		list, err := s.take()
		if err != nil {
			log.Warn("the watchdog of the next run will not find this one", "err", err)
		}
		g.Adopt(list)
		return nil
	})
	return s
}

// take waits for the lock, and returns what the guard has left that had it.
func (s *Handover) take() ([]watchdog.RemainingDevice, error) {
	if err := os.MkdirAll(filepath.Dir(s.name), 0o700); err != nil {
		return nil, err
	}
	f, err := durable.Open(s.name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	waited, err := lock(f)
	var will []byte
	if err == nil {
		will, err = io.ReadAll(io.LimitReader(f, willSize))
	}
	if err == nil {
		_, err = f.WriteAt(bytes.Repeat([]byte{' '}, willSize), 0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.held <- f
	if !waited || len(bytes.TrimSpace(will)) == 0 {
		return nil, nil // of a guard that was not there any more: nobody knows when that was
	}
	return watchdog.ParseRemaining(will)
}

// lockTime is how long a guard that has the file may take to leave it. One whose
// agent is there does not leave it at all.
const lockTime = 5 * time.Second

// lock locks a file, and tells whether another process had it.
func lock(f *os.File) (waited bool, err error) {
	wait := 5 * time.Millisecond
	for end := time.Now().Add(lockTime); time.Now().Before(end); wait = min(2*wait, time.Second) {
		l := syscall.Flock_t{Type: syscall.F_WRLCK}
		err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &l)
		if !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES) {
			return waited, err
		}
		l = syscall.Flock_t{Type: syscall.F_WRLCK}
		if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &l); err != nil {
			return waited, err
		}
		if l.Type != syscall.F_UNLCK && l.Pid > 0 {
			waited = true
			_ = syscall.Kill(int(l.Pid), syscall.SIGUSR1) // it may have ended meanwhile
		}
		<-time.After(wait)
	}
	return waited, fmt.Errorf("%s: another watchdog holds it and does not end", f.Name())
}

// WriteRemaining writes down what is left, for whoever is waiting for it.
func (s *Handover) WriteRemaining(rest []watchdog.RemainingDevice) error {
	if len(rest) == 0 {
		return nil
	}
	will, err := watchdog.EncodeRemaining(rest)
	if err != nil {
		return err
	}
	_, err = (<-s.held).WriteAt(will, 0) // it is there: nobody else could have asked for it
	return err
}
