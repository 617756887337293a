package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/internal/wait"
)

// Promise says which loss the settings of the servers exclude.
type Promise struct {
	Replicas int    `json:"replicas"` // of each message
	Sync     string `json:"sync"`     // always, default or unknown
	Source   string `json:"source"`   // of Sync: servers, configuration or none
	Kept     bool   `json:"kept"`     // no power cut loses an acknowledged step
	Text     string `json:"text"`

	Down []string `json:"down,omitempty"` // servers that were down at the start, so that Sync is not known of them
}

// The values of Promise.Sync and Promise.Source.
const (
	SyncAlways  = "always"
	SyncDefault = "default"
	SyncUnknown = "unknown"

	FromServers       = "servers"
	FromConfiguration = "configuration"
	FromNone          = "none"
)

// promiseOf returns the promise of settings.
func promiseOf(replicas int, sync, source string) Promise {
	p := Promise{Replicas: replicas, Sync: sync, Source: source, Kept: sync == SyncAlways && replicas != 2}
	switch {
	case !p.Kept:
		p.Text = "a power cut can lose acknowledged steps"
	case replicas == 1:
		p.Text = "a power cut loses no acknowledged step; the loss of the server's disk loses all threads"
	default:
		p.Text = fmt.Sprintf("no acknowledged step is lost while most of the %d servers keep their disks", replicas)
	}
	return p
}

// findPromise finds out which promise holds. It returns an error for a weaker one than the
// configuration accepts. It waits for the cluster to notice that a server is down.
func (s *Store) findPromise(ctx context.Context) (Promise, error) {
	ctx, cancel := context.WithTimeout(ctx, promiseTimeout)
	defer cancel()
	for {
		p, problem := s.readPromise(ctx)
		if problem == nil && !p.Kept {
			problem = fmt.Errorf("%d replicas can lose steps; write replicas: 3 for a cluster, or replicas: 1", s.cfg.Replicas)
		}
		if problem == nil || s.cfg.AcceptLoss {
			return p, nil
		}
		if !errors.Is(problem, errNoMonitor) || !wait.For(ctx, time.Second) {
			return p, fmt.Errorf("store: %w, or accept_loss: true to start although a power cut can lose acknowledged steps", problem)
		}
	}
}

const (
	promiseTimeout = 20 * time.Second
	// downAfter is the silence after which a server counts as down. Servers of a stream hear from
	// each other every second.
	downAfter = 4 * time.Second
)

// errNoMonitor is part of the error if the store cannot read the settings of a server.
var errNoMonitor = errors.New("its settings are unknown")

// readPromise finds out whether the servers sync each write. A client of an account cannot ask the
// servers, so it comes from their monitoring or from the configuration.
func (s *Store) readPromise(ctx context.Context) (Promise, error) {
	unknown := promiseOf(s.cfg.Replicas, SyncUnknown, FromNone)
	if len(s.cfg.Monitors) == 0 && s.cfg.SyncAlways {
		return promiseOf(s.cfg.Replicas, SyncAlways, FromConfiguration), nil
	} else if len(s.cfg.Monitors) == 0 {
		return unknown, errors.New("nothing says that the servers sync each write; write monitor: with the monitoring addresses of the servers, or sync: always if each of them has jetstream {sync_interval: always}")
	}
	peers, err := s.peers(ctx)
	if err != nil {
		return unknown, err
	}
	known := map[string]bool{}
	unread := []error{errNoMonitor}
	for _, address := range s.cfg.Monitors {
		v, err := readServer(ctx, address)
		if err != nil {
			unread = append(unread, err)
			continue
		}
		known[v.Name] = true
		if _, ok := peers[v.Name]; ok && !v.JetStream.Config.SyncAlways {
			return promiseOf(s.cfg.Replicas, SyncDefault, FromServers), fmt.Errorf("the server %s at %s does not sync each write; write jetstream {sync_interval: always} into its configuration", v.Name, address)
		}
	}
	p := promiseOf(s.cfg.Replicas, SyncAlways, FromServers)
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		switch {
		case known[name]:
		case peers[name].silent:
			p.Down = append(p.Down, name)
		default:
			return unknown, fmt.Errorf("monitor: no address is that of the server %s, which has the threads (%w); write the addresses of all servers", name, errors.Join(unread...))
		}
	}
	if len(p.Down) > 0 {
		p.Text += "; " + strings.Join(p.Down, ", ") + " was down at the start, and its settings are not known"
	}
	return p, nil
}

// peer is a server that has the threads and the attachments.
type peer struct {
	silent bool          // the leaders of both streams do not hear from it
	heard  time.Duration // since then; 0 if it is not known
	lag    uint64        // messages that it has still to get
}

// problem says what the other servers notice of this one; "" for nothing.
func (p peer) problem() string {
	switch {
	case p.silent && p.heard == 0:
		return "the other servers do not hear from it; look whether it runs, and start it again"
	case p.silent:
		return fmt.Sprintf("the other servers have not heard from it for %v; look whether it runs, and start it again", p.heard.Round(time.Second))
	case p.lag > lagLimit:
		return fmt.Sprintf("it has still to get %d messages; if the number does not fall, look at its disk and its network", p.lag)
	}
	return ""
}

// peers returns the servers that have the threads and the attachments, by name.
func (s *Store) peers(ctx context.Context) (map[string]peer, error) {
	all := map[string]peer{}
	for _, name := range []string{s.cfg.name(), "OBJ_" + s.bucket()} {
		stream, err := retryRead(ctx, s, func(ctx context.Context) (jetstream.Stream, error) { return s.js.Stream(ctx, name) })
		if err != nil {
			return nil, fmt.Errorf("the stream %s: %w", name, err)
		}
		c := stream.CachedInfo().Cluster
		if c == nil || c.Leader == "" {
			c = &jetstream.ClusterInfo{Leader: s.nc.ConnectedServerName()}
		}
		leader := all[c.Leader]
		leader.silent = false
		all[c.Leader] = leader
		for _, one := range c.Replicas {
			// A new leader has not heard yet from a server that was down before: Active is then 0.
			silent := one.Offline || one.Active > downAfter || one.Active == 0 && !one.Current
			before, ok := all[one.Name]
			all[one.Name] = peer{silent: silent && (before.silent || !ok), heard: max(one.Active, before.heard), lag: before.lag + one.Lag}
		}
	}
	return all, nil
}

// varz is a part of what a server tells of itself at /varz of its monitoring.
type varz struct {
	Name      string    `json:"server_name"`
	Version   string    `json:"version"`
	Now       time.Time `json:"now"`
	JetStream struct {
		Config struct {
			SyncAlways bool  `json:"sync_always"`
			MaxStore   int64 `json:"max_storage"` // bytes; 0 if JetStream is off
		} `json:"config"`
		Stats struct {
			Store uint64 `json:"storage"` // bytes in use
		} `json:"stats"`
	} `json:"jetstream"`
}

// maxVarz limits the answer of the monitoring, in bytes.
const maxVarz = 1 << 20

// readServer reads the settings of a server at its monitoring.
func readServer(ctx context.Context, address string) (v varz, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	code, data, err := readMonitor(ctx, address, "/varz")
	if err != nil {
		return v, err
	}
	if code != http.StatusOK {
		return v, fmt.Errorf("%s: %d %s", address, code, http.StatusText(code))
	}
	if v, err = readVarz(data); err != nil {
		return v, fmt.Errorf("%s is no monitoring of nats-server: %w", address, err)
	}
	return v, nil
}

// readMonitor reads a path of the monitoring of a server.
func readMonitor(ctx context.Context, address, path string) (code int, data []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(address, "/")+path, nil)
	if err != nil {
		return 0, nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	data, err = io.ReadAll(io.LimitReader(answer.Body, maxVarz))
	return answer.StatusCode, data, err
}

// readVarz reads the answer of a server at /varz.
func readVarz(data []byte) (v varz, err error) {
	if err := json.Unmarshal(data, &v); err != nil {
		return varz{}, err
	}
	if v.Name == "" {
		return varz{}, errors.New("the answer has no server_name")
	}
	return v, nil
}

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
