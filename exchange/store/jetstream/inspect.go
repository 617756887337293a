package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Finding is what Inspect says about a server, or about the whole store.
type Finding struct {
	Server string // its name, or its monitoring address while no server tells the name; "" for the whole store
	Bad    bool
	Note   bool // nothing is known to be bad, and somebody should read it
	Says   string
}

const (
	inspectTimeout = 2 * time.Second  // of one question to a server
	inspectLeader  = 15 * time.Second // for a stream that has no leader: an election takes up to 10 s
	clockLimit     = 2 * time.Second  // between this machine and a server
	lagLimit       = 1000             // messages that a replica has still to get
	storeNote      = 80               // per cent of the space for JetStream
	storeBad       = 95
)

// Inspect asks the servers for their versions, settings, space and clocks at their monitoring, and for
// the replicas and limits through JetStream. It changes nothing. Each server that is not as the store
// needs it has a Finding with Bad.
func Inspect(ctx context.Context, cfg Config) []Finding {
	cfg = cfg.withDefaults()
	cfg.dialTimeout = inspectTimeout
	answers := make([]monitorAnswer, len(cfg.Monitors))
	var asking sync.WaitGroup
	for i, address := range cfg.Monitors {
		asking.Go(func() { answers[i] = askMonitor(ctx, address) })
	}
	whole, peers := inspectStream(ctx, cfg)
	asking.Wait()
	return append(judgeServers(cfg, answers, peers), whole...)
}

// monitorAnswer is what a server says at its monitoring.
type monitorAnswer struct {
	address string
	v       varz
	err     error         // of /varz
	health  string        // why the server is not healthy; "" if it is
	clock   time.Duration // how far its clock is ahead, at least
}

func askMonitor(ctx context.Context, address string) monitorAnswer {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	a := monitorAnswer{address: address}
	begin := time.Now()
	if a.v, a.err = readServer(ctx, address); a.err != nil {
		return a
	}
	a.clock = clockOf(a.v.Now, begin, time.Now())
	code, data, err := readMonitor(ctx, address, "/healthz")
	switch {
	case err != nil:
		a.err = err
	case code != http.StatusOK:
		a.health = healthText(code, data)
	}
	return a
}

// clockOf returns how far the clock of a server is ahead of this one, whose times begin and end enclose
// the answer. It is 0 if the time is between them, and negative for a clock behind.
func clockOf(server, begin, end time.Time) time.Duration {
	switch {
	case server.IsZero():
		return 0
	case server.After(end):
		return server.Sub(end)
	case server.Before(begin):
		return server.Sub(begin)
	}
	return 0
}

// healthText returns the reason in an answer of /healthz.
func healthText(code int, data []byte) string {
	var h struct{ Error string }
	if json.Unmarshal(data, &h) != nil || h.Error == "" {
		return fmt.Sprint("its health has the code ", code)
	}
	return h.Error
}

// inspectStream asks JetStream for the replicas of the streams and the limits of the account. peers has
// the servers by name; nil if no server tells them.
func inspectStream(ctx context.Context, cfg Config) (found []Finding, peers map[string]peer) {
	nc, err := cfg.connect()
	if err != nil {
		return []Finding{{Bad: true, Says: err.Error()}}, nil
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return []Finding{{Bad: true, Says: err.Error()}}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, inspectLeader)
	defer cancel()
	s := &Store{cfg: cfg, nc: nc, js: js}
	peers, err = s.peers(ctx)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return []Finding{{Note: true, Says: "the stream " + cfg.name() + " is not there yet; the first start of an exchange makes it"}}, nil
	case err != nil:
		return []Finding{{Bad: true, Says: fmt.Sprintf("the stream %s does not answer: %v; most of its servers must run", cfg.name(), err)}}, nil
	}
	f := Finding{Says: fmt.Sprintf("the stream %s has %d replicas, on %s", cfg.name(), len(peers), strings.Join(slices.Sorted(maps.Keys(peers)), ", "))}
	if len(peers) != cfg.Replicas {
		f.Bad, f.Says = true, f.Says+fmt.Sprintf("; the configuration has replicas: %d", cfg.Replicas)
	}
	found = append(found, f)
	space, err := s.Space(ctx)
	if err != nil {
		return append(found, Finding{Note: true, Says: fmt.Sprintf("the space of the store is unknown: %v", err)}), peers
	}
	for _, l := range space.Limits {
		if f := spaceOf(l.Of, l.Used, l.Most, l.Remedy); f.Says != "" {
			found = append(found, f)
		}
	}
	return found, peers
}

// Space is the use of the space for the store.
type Space struct {
	Threads uint64 // bytes of threads and documents, on each of their servers
	Objects uint64 // bytes of attachments and archives, on each of their servers
	Limits  []Limit
}

// Limit is a limit of bytes.
type Limit struct {
	Of     string // what has it
	Used   uint64
	Most   int64 // 0: there is no limit
	Remedy string
}

// Warning says that less than a fifth of the space is left; "" for more.
func (l Limit) Warning() string {
	if f := spaceOf(l.Of, l.Used, l.Most, l.Remedy); f.Bad || f.Note {
		return f.Says
	}
	return ""
}

// Space asks the servers for the use of the space. The limits of single servers are not part of it.
func (s *Store) Space(ctx context.Context) (Space, error) {
	var all Space
	for name, bytes := range map[string]*uint64{s.cfg.name(): &all.Threads, "OBJ_" + s.bucket(): &all.Objects} {
		stream, err := retryRead(ctx, s, func(ctx context.Context) (jetstream.Stream, error) { return s.js.Stream(ctx, name) })
		if err != nil {
			return Space{}, fmt.Errorf("the stream %s: %w", name, err)
		}
		is := stream.CachedInfo()
		*bytes = is.State.Bytes
		all.Limits = append(all.Limits, Limit{"the stream " + name, is.State.Bytes, max(0, is.Config.MaxBytes), "raise max_bytes of this stream, or lower archive_after"})
	}
	slices.SortFunc(all.Limits, func(a, b Limit) int { return strings.Compare(a.Of, b.Of) })
	account, err := s.js.AccountInfo(ctx)
	if err != nil {
		return Space{}, fmt.Errorf("the account: %w", err)
	}
	all.Limits = append(all.Limits, Limit{"the account", account.Store, max(0, account.Limits.MaxStore), "raise max_storage of the account, or lower archive_after"})
	return all, nil
}

// spaceOf returns a finding about used space. Its text is "" for space without a limit.
func spaceOf(what string, used uint64, limit int64, remedy string) (f Finding) {
	if limit <= 0 {
		return f
	}
	percent := int64(float64(used) / float64(limit) * 100)
	f.Says = fmt.Sprintf("%s uses %d %% of %d MB", what, percent, limit>>20)
	f.Bad, f.Note = percent >= storeBad, percent >= storeNote && percent < storeBad
	if percent >= storeNote {
		f.Says += "; " + remedy
	}
	return f
}

// judgeServers returns the findings about each server.
func judgeServers(cfg Config, answers []monitorAnswer, peers map[string]peer) (found []Finding) {
	unnamed := maps.Clone(peers)
	silent := 0
	for _, a := range answers {
		delete(unnamed, a.v.Name)
		if a.err != nil && a.v.Name == "" {
			silent++
		}
	}
	for _, a := range answers {
		name := a.v.Name
		if name == "" && silent == 1 && len(unnamed) == 1 { // one server does not answer, and one name is left
			for name = range unnamed {
				delete(unnamed, name)
			}
		}
		p, isPeer := peers[name]
		found = append(found, a.judge(cfg, name, p, isPeer))
	}
	for _, name := range slices.Sorted(maps.Keys(unnamed)) {
		f := Finding{Server: name, Note: true, Says: "its settings are unknown: no address of monitor: is that of this server"}
		if bad := unnamed[name].problem(); bad != "" {
			f = Finding{Server: name, Bad: true, Says: bad}
		}
		found = append(found, f)
	}
	return found
}

// judge returns the finding about one server. name is "" if it is unknown.
func (a monitorAnswer) judge(cfg Config, name string, p peer, isPeer bool) Finding {
	f := Finding{Server: name}
	if name == "" {
		f.Server = a.address
	}
	var bad, notes []string
	if p := p.problem(); isPeer && p != "" {
		bad = append(bad, p)
	}
	if a.err != nil {
		text := fmt.Sprintf("its monitoring at %s does not answer: %v; start nats-server there", a.address, a.err)
		if errors.Is(a.err, context.DeadlineExceeded) || os.IsTimeout(a.err) {
			text = fmt.Sprintf("its monitoring at %s does not answer within %v: the process or its machine stands still, or the network is cut", a.address, inspectTimeout)
		}
		if isPeer && len(bad) == 0 {
			notes = append(notes, text+". The other servers hear from it")
		} else {
			bad = append(bad, text)
		}
	} else {
		wrong, note := a.settings(cfg)
		bad, notes = append(bad, wrong...), append(notes, note...)
	}
	f.Bad, f.Note = len(bad) > 0, len(bad) == 0 && len(notes) > 0
	f.Says = strings.Join(append(bad, notes...), "; ")
	if f.Says == "" {
		f.Says = fmt.Sprintf("version %s, syncs each write", a.v.Version)
		if s := a.space(); s.Says != "" {
			f.Says += ", " + s.Says
		}
	}
	return f
}

func (a monitorAnswer) space() Finding {
	return spaceOf("JetStream", a.v.JetStream.Stats.Store, a.v.JetStream.Config.MaxStore, "raise max_file_store of this server, or free its disk")
}

// settings returns what is wrong with a server that answers.
func (a monitorAnswer) settings(cfg Config) (bad, notes []string) {
	if err := checkVersion(a.v.Version); err != nil {
		bad = append(bad, strings.TrimPrefix(err.Error(), "store: "))
	}
	switch {
	case a.v.JetStream.Config.MaxStore == 0 && a.health != "":
		bad = append(bad, fmt.Sprintf("JetStream is off (%s); a full or broken disk turns it off, so look at the disk and the log, and start the server again", a.health))
	case a.v.JetStream.Config.MaxStore == 0:
		bad = append(bad, "JetStream is off; write jetstream {} into its configuration, or if it is there, look at the disk and the log, and start the server again")
	case a.health != "":
		bad = append(bad, fmt.Sprintf("it is not healthy: %s; if that lasts, look at its disk and its log, and start it again", a.health))
	}
	if on := a.v.JetStream.Config; on.MaxStore != 0 && !on.SyncAlways {
		text := "it does not sync each write; write jetstream {sync_interval: always} into its configuration"
		if cfg.AcceptLoss {
			notes = append(notes, text)
		} else {
			bad = append(bad, text)
		}
	}
	if s := a.space(); s.Bad {
		bad = append(bad, s.Says)
	} else if s.Note {
		notes = append(notes, s.Says)
	}
	if a.clock.Abs() > clockLimit {
		bad = append(bad, fmt.Sprintf("its clock differs from that of this machine by %v; let NTP set both", a.clock.Round(time.Second/10)))
	}
	return bad, notes
}
