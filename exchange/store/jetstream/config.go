package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/internal/natslink"
)

// Config says where the store is.
type Config struct {
	URLs   []string // of servers: nats://host:4222 or tls://host:4222; the store finds the others of a cluster
	Client string   // name of this exchange at the servers
	Prefix string   // first word of the subjects and of the stream; "" for mess
	Site   string   // second word; exchanges with the same prefix and site share a store

	Replicas int // of each message: 1, 3 or 5

	Credentials string // file with a JWT and an NKEY seed; "" for none
	NKey        string // file with an NKEY seed; "" for none
	CA          string // file with the certificates that sign those of the servers; "" for those of the system
	Cert, Key   string // files with the certificate of this exchange and its key; "" for none

	SyncAlways bool     // somebody has set sync_interval: always at all servers
	Monitors   []string // monitoring addresses of the servers, like http://host:8222, where the store reads sync_interval
	AcceptLoss bool     // open with settings that can lose acknowledged steps
	Existing   bool     // return an error if the servers do not have the store yet

	// Domain is the JetStream domain of the servers that have the threads of a site. The store is then a
	// copy of these threads at other servers, which fill it by sources. It is for reading: a write
	// returns ErrCopy. "" is no copy.
	Domain string

	IgnoreSnapshot bool // FeedEnvelopes gives all steps

	Log *slog.Logger

	dialTimeout   time.Duration // of a connection to one server
	snapshotAfter uint64        // number of messages since the last snapshot from which on Snapshot writes
}

func (c Config) withDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = natslink.DefaultPrefix
	}
	if c.dialTimeout == 0 {
		c.dialTimeout = 5 * time.Second
	}
	if c.snapshotAfter == 0 {
		c.snapshotAfter = snapshotAfter
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// name returns the name of the stream.
func (c Config) name() string { return c.Prefix + "_" + c.Site }

// servers returns the addresses of the configuration for a message.
func (c Config) servers() string { return strings.Join(c.URLs, ", ") }

// connect connects to one of the servers. Later the client changes to another one by itself.
func (c Config) connect() (*nats.Conn, error) {
	a := natslink.Address{URL: strings.Join(c.URLs, ","), Credentials: c.Credentials, NKey: c.NKey, CA: c.CA, Cert: c.Cert, Key: c.Key}
	nc, err := a.Connect(natslink.Options{
		Name: "messkit exchange " + c.Client, What: "the store", Dial: c.dialTimeout, Log: c.Log,
		Connected: func(nc *nats.Conn) {
			if err := checkVersion(nc.ConnectedServerVersion()); err != nil {
				c.Log.Error("the store is at a server that it does not know", "err", err)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return nc, nil
}

// The oldest version of the servers. Before it, atomic batches with several expectations fail, and
// R3 streams sync each message by itself.
const oldestMajor, oldestMinor = 2, 15

// checkVersion returns an error for a server that is too old.
func checkVersion(version string) error {
	parts := strings.SplitN(version, ".", 3)
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := 0, error(nil)
	if len(parts) > 1 {
		minor, err2 = strconv.Atoi(parts[1])
	}
	if err1 != nil || err2 != nil || major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return fmt.Errorf("store: the NATS server has version %s; install %d.%d or later", version, oldestMajor, oldestMinor)
	}
	return nil
}

// incompleteBatch is the code for a batch of which the leader lacks a message, because it is a new
// leader.
const incompleteBatch = 10176

// noPeers is the code of the error for a stream that has no place. Its description names the reasons; one
// is that a server is offline, which it is for a moment while a cluster starts.
const noPeers = 10005

// isTemporary reports whether a request to the servers may succeed soon.
func isTemporary(err error) bool {
	if a, ok := errors.AsType[*jetstream.APIError](err); ok {
		if a.Code == 429 || a.ErrorCode == incompleteBatch || a.ErrorCode == noPeers && strings.Contains(a.Description, "offline") {
			return true
		}
		return a.Code == 503 && a.ErrorCode != jetstream.JSErrCodeJetStreamNotEnabled && a.ErrorCode != jetstream.JSErrCodeJetStreamNotEnabledForAccount
	}
	return true
}

// remedy says what to do after an error of opening a stream.
func remedy(err error, replicas int) string {
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		return "turn JetStream on, with jetstream {} in the configuration of nats-server and for the account"
	case replicas > 1:
		return fmt.Sprintf("%d replicas need a cluster of %d servers; for a single one write replicas: 1", replicas, replicas)
	}
	return "look into the log of nats-server"
}

// moveAfter is the time without an answer of the stream after which the store changes to another server.
// It is shorter than most elections of a leader, but such a change costs only some milliseconds.
const moveAfter = 4 * time.Second

// silence is since when the stream does not answer, to writes and to reads; zero if it does. A leader that
// is cut off from the others still answers reads for a time, so those say nothing about writes.
type silence struct {
	writes, reads time.Time
}

// wrote and read record how an attempt at the server has ended.
func (s *Store) wrote(err error) { s.heard(&s.silent.writes, err) }
func (s *Store) read(err error)  { s.heard(&s.silent.reads, err) }

// heard changes to another server if there was no answer for moveAfter. A server can answer pings and not
// reach the stream, because it is cut off from the other servers or its disk has failed. The client library
// stays there.
func (s *Store) heard(since *time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrObjectNotFound) {
		*since = time.Time{}
		return
	}
	if !isSilence(err) {
		return // a leader that is cut off can still refuse
	}
	now := time.Now()
	if since.IsZero() {
		*since = now
	}
	if now.Sub(*since) < moveAfter || !s.nc.IsConnected() || len(s.nc.Servers()) < 2 {
		return
	}
	s.silent = silence{writes: now, reads: now} // the next server has as much time
	s.cfg.Log.Warn("the stream does not answer at this server; the store looks for another one", "server", s.nc.ConnectedUrlRedacted(), "err", err)
	if err := s.nc.ForceReconnect(); err != nil {
		s.cfg.Log.Warn("the store cannot leave its server", "err", err)
	}
}

// isSilence reports whether an attempt has ended without an answer of the stream: nobody answers, or a
// server answers that it has no leader.
func isSilence(err error) bool {
	if a, ok := errors.AsType[*jetstream.APIError](err); ok {
		return a.Code == 503
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse)
}
