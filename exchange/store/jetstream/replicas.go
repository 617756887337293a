package jetstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Replica is a server that has the threads and the attachments.
type Replica struct {
	Name    string
	Problem string // why it may lack the last messages, with a remedy; "" if it has them
}

// Replicas asks the leaders of the streams which servers have the threads, and returns them by name. The
// error is that of the servers or of ctx: without a leader nobody knows it.
func (s *Store) Replicas(ctx context.Context) (all []Replica, err error) {
	peers, err := s.peers(ctx)
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		all = append(all, Replica{name, peers[name].problem()})
	}
	return all, err
}

// ErrCopy is the error of a write to the copy of a site.
var ErrCopy = errors.New("the store is a copy of the threads of a site, for reading; only the exchange of the site writes them")

// copied returns the settings of the copy of a stream, if the store is a copy. The copy has no subjects, so
// that nobody writes to it but its source. It has only the messages whose subjects begin with the
// prefix and the site and go on with one of these, or all if there are none. It has no documents,
// because these are secrets of the site: hashes of keys and sessions of browsers.
func (s *Store) copied(c jetstream.StreamConfig, only ...string) jetstream.StreamConfig {
	if s.cfg.Domain == "" {
		return c
	}
	from := &jetstream.StreamSource{Name: c.Name, Domain: s.cfg.Domain}
	for _, rest := range only {
		from.SubjectTransforms = append(from.SubjectTransforms, jetstream.SubjectTransformConfig{Source: s.subject(rest), Destination: s.subject(rest)})
	}
	c.Description, c.Subjects, c.AllowAtomicPublish, c.Sources = c.Description+" at the site "+s.cfg.Site, nil, false, []*jetstream.StreamSource{from}
	return c
}

// Copied is how far the copy of a site is.
type Copied struct {
	Lag   uint64        // messages that the copy lacked at the last contact
	Heard time.Duration // since the last contact; negative if there was none since the server began
}

// Copied asks the leader of the stream how far the copy is. The error is that of the servers or of ctx.
func (s *Store) Copied(ctx context.Context) (c Copied, err error) {
	info, err := retryRead(ctx, s, func(ctx context.Context) (*jetstream.StreamInfo, error) { return s.stream.Info(ctx) })
	if err != nil {
		return c, err
	}
	if len(info.Sources) != 1 {
		return c, fmt.Errorf("the stream %s is no copy", s.cfg.name())
	}
	return Copied{info.Sources[0].Lag, info.Sources[0].Active}, nil
}
