// Package store opens the store of threads that a configuration names: the data folder, or NATS
// JetStream.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/transfer"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon/status"
	"github.com/messkit/messkit/internal/wal"
)

// Store is the store of an exchange in this program.
type Store interface {
	thread.Store
	thread.DocumentReader
	// Run does the work of the store beside its writes, until ctx ends.
	Run(ctx context.Context, to files.Listener) error
	// Err returns the reason why the store cannot write, or nil.
	Err() error
	// Report writes its part of the status. up is the time since the start.
	Report(s *status.Document, up time.Duration)
	// ReportServers writes what only other servers know, after Report. It may take some seconds.
	ReportServers(s *status.Document)
	// ReportSpace writes how full the servers are, after Report.
	ReportSpace(s *status.Document)
}

// Open opens the store of an exchange. It returns an error for a store that has an incomplete copy of
// another one.
func Open(ctx context.Context, c *config.Exchange, log *slog.Logger) (Store, error) {
	s, err := open(ctx, c, log)
	if err != nil {
		return nil, err
	}
	doc, err := s.Document(ctx, transfer.MarkKind, transfer.MarkID)
	if source, is := transfer.IsExport(doc); err == nil && is {
		err = fmt.Errorf("store: it is an export of %s by messkit store export, for reading only; name another data folder", source)
	} else if source, incomplete := transfer.Incomplete(doc); err == nil && incomplete {
		err = fmt.Errorf("store: it has a part of %s only, because messkit store copy has not ended; run that command again", source)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func open(ctx context.Context, c *config.Exchange, log *slog.Logger) (Store, error) {
	if c.NATS != nil {
		return openNATS(ctx, c, log)
	}
	s, err := c.Files(log).Open(c.Data)
	if err != nil {
		return nil, err
	}
	return folder{s}, nil
}

// folder is the store in the data folder.
type folder struct{ *files.Store }

// Report writes the use of the disk, and the damage of the log.
func (f folder) Report(s *status.Document, up time.Duration) {
	now, total, today := f.Written()
	s.Log = status.NewDiskUse(now, total, today, up)
	now, total, today = f.WrittenFiles()
	s.Files = status.NewDiskUse(now, total, today, up)
	behind, lag := f.Lag()
	s.Folders = status.Folders{Behind: behind, LagS: lag.Seconds()}
	for _, d := range f.Damage() {
		s.Damaged = append(s.Damaged, d.Error())
	}
}

// ReportServers does nothing: a folder has none.
func (f folder) ReportServers(*status.Document) {}

// ReportSpace does nothing: the status has the space of the disk.
func (f folder) ReportSpace(*status.Document) {}

// servers is the store on NATS servers. The data folder has the keys of the exchange, so the lock
// keeps a second exchange out of it.
type servers struct {
	*jetstream.Store
	lock io.Closer
}

// lockFile is in the data folder.
const lockFile = "exchange.lock"

func openNATS(ctx context.Context, c *config.Exchange, log *slog.Logger) (Store, error) {
	lock, err := wal.Lock(filepath.Join(c.Data, lockFile))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(c.Data, "log")); err == nil {
		log.Warn("the threads in the data folder are not in the store on NATS, and this exchange does not show them", "data", c.Data)
	}
	s, err := jetstream.Open(ctx, c.NATS.Config(c.ID, log))
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if p := s.Promise(); !p.Kept {
		log.Warn("the store can lose acknowledged steps, as accept_loss: true says", "replicas", p.Replicas, "sync", p.Sync)
	}
	return servers{s, lock}, nil
}

// Run waits for ctx: the servers do the work.
func (n servers) Run(ctx context.Context, _ files.Listener) error {
	<-ctx.Done()
	return nil
}

// Report writes the server and the promise.
func (n servers) Report(s *status.Document, _ time.Duration) {
	p := n.Promise()
	s.Store = &status.Store{Server: n.Connected(), Replicas: p.Replicas, Sync: p.Sync, Source: p.Source, Down: p.Down, Kept: p.Kept, Promise: p.Text, Format: n.Format(), Newest: jetstream.Newest()}
	if err := n.Err(); err != nil {
		s.Store.Failing = err.Error()
	}
	some, count := n.Unreadable()
	for _, u := range some {
		s.Damaged = append(s.Damaged, u.String())
	}
	if more := count - len(some); more > 0 {
		s.Damaged = append(s.Damaged, fmt.Sprintf("%d more records in the stream are unreadable", more))
	}
	s.Store.Unreadable = count
}

// ReportServers writes which servers have all steps.
func (n servers) ReportServers(s *status.Document) {
	ctx, cancel := context.WithTimeout(context.Background(), replicasTimeout)
	defer cancel()
	replicas, err := n.Replicas(ctx)
	if err != nil {
		s.Store.Unknown = err.Error()
		return
	}
	for _, one := range replicas {
		s.Store.Servers = append(s.Store.Servers, status.Server(one))
	}
	n.reportSpace(ctx, s)
}

// ReportSpace writes how full the store is.
func (n servers) ReportSpace(s *status.Document) {
	ctx, cancel := context.WithTimeout(context.Background(), spaceTimeout)
	defer cancel()
	n.reportSpace(ctx, s)
}

func (n servers) reportSpace(ctx context.Context, s *status.Document) {
	space, err := n.Space(ctx)
	if err != nil {
		return // it is unknown
	}
	s.Store.Bytes, s.Store.Objects = space.Threads, space.Objects
	for _, l := range space.Limits {
		if says := l.Warning(); says != "" {
			s.Store.Full = append(s.Store.Full, says)
		}
	}
}

// spaceTimeout limits the question how full the store is, for metrics.
const spaceTimeout = 500 * time.Millisecond

// replicasTimeout limits the question which servers have all steps. A status must not wait for the
// election of a leader.
const replicasTimeout = 2 * time.Second

// Close ends the connection, and unlocks the data folder.
func (n servers) Close() error {
	err := errors.Join(n.Store.Close(), n.lock.Close())
	if errors.Is(err, os.ErrClosed) { // it was closed before
		return nil
	}
	return err
}

// ErrNoImport is the reason why an exchange on NATS imports no files.
var ErrNoImport = errors.New("this exchange has its threads on NATS servers, and imports none from files")
