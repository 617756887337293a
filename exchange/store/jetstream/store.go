// Package jetstream stores threads in NATS JetStream, so that several exchanges share one store.
//
// One stream has everything that has an order. Its subjects begin with the prefix and the site:
//
//	{prefix}.{site}.t.{hash of the ref}              the steps of a thread, each with its envelope
//	{prefix}.{site}.k.{hash of owner and name}       the ref of the thread that has claimed a key
//	{prefix}.{site}.d.{hash of kind and id}          the last content of a document
//	{prefix}.{site}.a.{hash of the name}             the index of an archive
//	{prefix}.{site}.f                                the format of the stream, if it is not 1
//	{prefix}.{site}.s                                the manifest of the snapshot
//
// Each write names the last sequence of its subject that it expects, so one of several writers
// succeeds, whichever exchange it uses. A step that claims keys is one atomic batch: each key
// expects that its subject is empty. For a client id this is the hash of requester and client id.
// Reads go to the leader of the stream (allow_direct is off), and no read decides over a write.
// Attachments, and steps that are larger than a message, are in an object store; their names are
// their SHA-256. It also has the archives with the threads that ended long ago. The stream then has one
// short message of such a thread for a month, and nothing after that.
package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"weak"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

const (
	attemptTimeout = 2 * time.Second  // of one request to the servers
	writeTimeout   = 45 * time.Second // of all attempts of a write: an election takes up to 10 s
	openTimeout    = 30 * time.Second // of all attempts to open the stream
)

// Store is a thread.Store in a JetStream. It is safe for concurrent use.
type Store struct {
	cfg     Config
	nc      *nats.Conn
	js      jetstream.JetStream
	stream  jetstream.Stream
	blobs   jetstream.ObjectStore
	objects jetstream.Stream // of blobs
	most    int              // size of a message, in bytes
	promise Promise
	recent  recentThreads
	pace    wait.Pace    // of new threads
	newest  int          // format that this program knows
	format  atomic.Int64 // of the stream; 0 until it is known

	checkedSnapshot atomic.Bool // this process has read all parts of the snapshot

	mu      sync.Mutex
	serials map[string]int // the highest by day, of the steps that a feed has brought
	failing error          // the last write has failed for this reason, or nil
	failed  time.Time      // when
	damage  damage
	silent  silence

	lastPart weak.Pointer[loadedPart] // of an archive
	expires  atomic.Bool              // the stream takes messages with a lifetime

	goneFor, unusedFor, freshFor time.Duration
	atCrash                      func(step string) error // for tests; nil for none
}

var (
	_ thread.Store          = (*Store)(nil)
	_ thread.EnvelopeReader = (*Store)(nil)
	_ thread.DocumentReader = (*Store)(nil)
	_ thread.EnvelopeFeeder = (*Store)(nil)
	_ thread.Shared         = (*Store)(nil)
	_ thread.Admitter       = (*Store)(nil)
	_ thread.Snapshotter    = (*Store)(nil)
	_ thread.Folders        = (*Store)(nil)
	_ thread.Archiver       = (*Store)(nil)
)

// Open connects to the servers, and makes the stream and the object store if they do not exist. It
// returns an error for servers before version 2.15, and for settings that do not keep the promise
// of the configuration.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	nc, err := cfg.connect()
	if err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, nc: nc, newest: Newest(), serials: map[string]int{}, pace: wait.Pace{Target: slowWrite}, goneFor: goneFor, unusedFor: unusedFor, freshFor: freshFor}
	if err := s.open(ctx); err != nil {
		nc.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if err := checkVersion(s.nc.ConnectedServerVersion()); err != nil {
		return err
	}
	var err error
	if s.js, err = jetstream.New(s.nc); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	s.most = int(min(s.nc.MaxPayload(), 1<<20)) - headerRoom
	ready, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if s.stream, err = s.openStream(ready, s.copied(s.streamConfig(), "t.>", "k.>", "a.>", "f", "i.>")); err != nil {
		return err
	}
	if s.objects, err = s.openStream(ready, s.copied(s.objectConfig())); err != nil {
		return err
	}
	if _, err = s.loadFormat(ready); err != nil {
		return err
	}
	if s.stream.CachedInfo().State.LastSeq == 0 && !s.cfg.Existing && s.cfg.Domain == "" { // no other release has written to it
		if _, err = s.Upgrade(ready); err != nil && s.Format() < s.newest {
			s.cfg.Log.Debug("the new stream has an old format", "err", err)
		}
	}
	// A server may not know yet what another exchange has just made.
	s.blobs, err = retryRead(ready, s, func(ctx context.Context) (jetstream.ObjectStore, error) { return s.js.ObjectStore(ctx, s.bucket()) })
	if err != nil {
		return fmt.Errorf("store: the object store %s: %w", s.bucket(), err)
	}
	if s.cfg.Domain == "" {
		s.promise, err = s.findPromise(ctx)
	}
	return err
}

// streamConfig returns the settings of a new stream.
func (s *Store) streamConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: s.cfg.name(), Description: "threads of messkit", Subjects: []string{s.subject(">")},
		Storage: jetstream.FileStorage, Replicas: s.cfg.Replicas, Discard: jetstream.DiscardNew,
		DenyDelete: true, AllowRollup: true, AllowAtomicPublish: true, AllowMsgTTL: true,
	}
}

// objectConfig returns the settings of the stream of a new object store. The client library would
// allow direct reads, which can be old.
func (s *Store) objectConfig() jetstream.StreamConfig {
	b := s.bucket()
	return jetstream.StreamConfig{
		Name: "OBJ_" + b, Description: "attachments of messkit", Subjects: []string{"$O." + b + ".C.>", "$O." + b + ".M.>"},
		Storage: jetstream.FileStorage, Replicas: s.cfg.Replicas, Discard: jetstream.DiscardNew, AllowRollup: true,
	}
}

func (s *Store) bucket() string { return s.cfg.name() + "_blobs" }

// openStream opens a stream, or makes it. It tries again while the servers elect a leader.
func (s *Store) openStream(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	pause := wait.Backoff{First: 50 * time.Millisecond, Last: time.Second}
	for {
		try, cancel := context.WithTimeout(ctx, 5*attemptTimeout)
		stream, err := s.js.Stream(try, want.Name)
		if isNew := errors.Is(err, jetstream.ErrStreamNotFound); isNew && s.cfg.Existing {
			cancel()
			return nil, fmt.Errorf("store: the servers have no threads of the prefix %s and the site %s; write those of the exchange, whose site is its id unless configured", s.cfg.Prefix, s.cfg.Site)
		} else if isNew {
			stream, err = s.js.CreateStream(try, want)
		}
		cancel()
		s.read(err)
		if err == nil {
			return stream, checkStream(stream.CachedInfo().Config, want)
		}
		if !isTemporary(err) || !wait.For(ctx, pause.Next()) {
			return nil, fmt.Errorf("store: the stream %s: %w; %s", want.Name, err, remedy(err, want.Replicas))
		}
	}
}

// checkStream returns an error for the settings of an existing stream that the store does not work
// with.
func checkStream(is, want jetstream.StreamConfig) error {
	for _, setting := range []struct {
		wrong bool
		what  string
	}{
		{is.Replicas != want.Replicas, fmt.Sprintf("has %d replicas, and the configuration says %d; write replicas: %d, or change the stream with nats stream edit --replicas %d", is.Replicas, want.Replicas, is.Replicas, want.Replicas)},
		{len(want.Sources) > 0 && (len(is.Sources) != 1 || len(is.Subjects) > 0), "is no copy of a site; give the site another name, or remove the stream with nats stream rm"},
		{is.AllowDirect || is.MirrorDirect, "allows direct reads, which can be old; turn them off with nats stream edit --no-allow-direct"},
		{is.AllowAtomicPublish != want.AllowAtomicPublish, "does not allow atomic batches; turn them on with nats stream edit --allow-batch"},
		{is.AllowRollup != want.AllowRollup, "does not allow rollups; turn them on with nats stream edit --allow-rollup"},
		{is.Storage != jetstream.FileStorage, "is in memory; give the exchange another prefix or site"},
		{is.PersistMode != jetstream.DefaultPersistMode, "writes to the disk after its answer; give the exchange another prefix or site"},
		{is.Retention != jetstream.LimitsPolicy || is.MaxAge > 0 || is.MaxMsgs > 0 || is.MaxMsgsPerSubject > 0 || is.MaxBytes > 0 && is.Discard != jetstream.DiscardNew, "forgets messages; remove its limits of age and number, and let it discard new messages"},
	} {
		if setting.wrong {
			return fmt.Errorf("store: the stream %s %s", is.Name, setting.what)
		}
	}
	return nil
}

// Promise returns which loss the settings of the servers exclude.
func (s *Store) Promise() Promise { return s.promise }

// Err returns the reason why the store cannot write now, or nil.
func (s *Store) Err() error {
	if !s.nc.IsConnected() {
		return fmt.Errorf("store: no server of %s answers", s.cfg.servers())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !errors.Is(s.failing, syscall.ENOSPC) && time.Since(s.failed) > failingFor {
		return nil
	}
	return s.failing
}

// failingFor is the time for which Err reports a failed write if no later one shows whether the
// servers write again. A full stream stays full.
const failingFor = time.Minute

// report records the outcome of a write. The store logs when writes begin to fail and when they
// succeed again.
func (s *Store) report(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && s.failing == nil:
		s.cfg.Log.Error("the store cannot write", "server", s.nc.ConnectedUrlRedacted(), "err", err)
	case err == nil && s.failing != nil:
		s.cfg.Log.Info("the store writes again", "server", s.nc.ConnectedUrlRedacted())
	}
	s.failing, s.failed = err, time.Now()
}

// Shared implements thread.Shared.
func (s *Store) Shared() {}

// Connected returns the address of the server that the store uses now, without secrets; "" for none.
func (s *Store) Connected() string { return s.nc.ConnectedUrlRedacted() }

// Close ends the connection. Feeds end, and writes that are not answered return an error.
func (s *Store) Close() error {
	s.nc.Close()
	return nil
}

// subject returns a subject of this store.
func (s *Store) subject(rest string) string { return s.cfg.Prefix + "." + s.cfg.Site + "." + rest }

func (s *Store) threadSubject(ref string) string        { return s.subject("t." + hash(ref)) }
func (s *Store) keySubject(k thread.Key) string         { return s.subject("k." + hash(k.Owner, k.Name)) }
func (s *Store) documentSubject(kind, id string) string { return s.subject("d." + hash(kind, id)) }

// hash returns a token for a subject. Names can have characters that a subject cannot have, so the
// token is the first half of their SHA-256.
func hash(names ...string) string {
	h := sha256.New()
	for _, name := range names {
		fmt.Fprintf(h, "%d:%s", len(name), name)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// revOf returns the revision of a thread or document: the sequence of its last message.
func revOf(seq uint64) thread.Rev { return thread.Rev(strconv.FormatUint(seq, 10)) }

// sequence returns the sequence of a revision; 0 for none.
func sequence(r thread.Rev) (uint64, error) {
	if r == "" {
		return 0, nil
	}
	return strconv.ParseUint(string(r), 10, 64)
}

// position returns the sequence of a position in the feed; 0 for its beginning.
func position(p thread.Pos) (uint64, error) {
	if p == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(string(p), 10, 64)
	if err != nil {
		return 0, mess.Errorf(mess.Invalid, "position: %.40q is none of this store's feed; leave it out to start again", p)
	}
	return n, nil
}
