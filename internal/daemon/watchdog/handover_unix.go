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

// Handover passes the devices of a watchdog whose agent has ended to the watchdog of the next run.
// That one finds the old process by the lock on a file, sends it SIGUSR1, and reads the remaining
// devices from the file. Without the file there is no handover, and the old watchdog waits until
// the time of its devices is over.
type Handover struct {
	name   string
	log    *slog.Logger
	held   chan *os.File // the file with the lock of this process
	others errgroup.Group
}

// willSize is the reserved size of the file, so that a handover works on a full disk. It holds the
// orders of some fifty devices.
const willSize = 16 << 10 // bytes

// TakeOver makes g the successor of the watchdog that holds the file name. It gives the file to
// the next watchdog that asks for it.
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

// take waits for the lock and returns the remaining devices of the watchdog that held it.
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
		return nil, nil // the watchdog that wrote it has ended, at an unknown time
	}
	return watchdog.ParseRemaining(will)
}

// lockTime is the time limit for the old watchdog to release the file. A watchdog whose agent
// runs does not release it.
const lockTime = 5 * time.Second

// lock locks a file and reports whether another process held it.
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
			_ = syscall.Kill(int(l.Pid), syscall.SIGUSR1) // the process may have ended since
		}
		<-time.After(wait)
	}
	return waited, fmt.Errorf("%s: another watchdog holds it and does not end", f.Name())
}

// WriteRemaining writes the remaining devices for the watchdog that waits for them.
func (s *Handover) WriteRemaining(rest []watchdog.RemainingDevice) error {
	if len(rest) == 0 {
		return nil
	}
	will, err := watchdog.EncodeRemaining(rest)
	if err != nil {
		return err
	}
	_, err = (<-s.held).WriteAt(will, 0) // only the holder of the file gets a request for it
	return err
}
