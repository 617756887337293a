// Package reference connects an executor to a MESS reference server over HTTP.
package reference

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/mess"
)

// Client makes a MESS reference server usable as an exchange, for an executor. Such a server has
// no leases, does not check steps, and accepts several claims of a thread. Client compensates
// for that as far as a client can. It reads back its writes, and permits a start only after two
// reads show this executor as the only holder.
//
// A server that writes whole threads back can still lose concurrent messages; see
// docs/reference/http.md for the remaining risks.
type Client struct {
	c   *httpclient.Client
	cfg Config
	log *slog.Logger

	mu       sync.Mutex
	claims   map[string]*ownClaim // by thread
	offered  map[string]time.Time // last change of the pending threads that the client has read
	spelling map[mess.Code]string // the spelling of a status that the server has accepted
	known    map[string]tagged    // last response by URL
}

// Config is the configuration of an executor at a reference server.
type Config struct {
	Executor string // this executor's id there
	// Operators lists the ids of operators. Only they can give a confirmation that must come
	// from a person other than the requester. The server has no roles.
	Operators []string
	Poll      time.Duration // mean interval of polls; 0: 2 s
	Settle    time.Duration // maximum wait before each of the two reads of a claim; 0: 400 ms
}

const (
	defaultPoll   = 2 * time.Second
	defaultSettle = 400 * time.Millisecond
	longestPause  = 30 * time.Second // between polls of a server that does not respond
)

// Validate returns an error for every invalid setting. Zero selects the default.
func (c Config) Validate() error {
	var errs []error
	if c.Poll != 0 && (c.Poll < 200*time.Millisecond || c.Poll > 10*time.Minute) {
		errs = append(errs, fmt.Errorf("poll: %v is not between 200ms and 10m", c.Poll))
	}
	if c.Settle != 0 && (c.Settle < 50*time.Millisecond || c.Settle > 800*time.Millisecond) {
		// A start permission may be 2 s old, and it takes two reads.
		errs = append(errs, fmt.Errorf("settle: %v is not between 50ms and 800ms", c.Settle))
	}
	for _, id := range c.Operators {
		if !mess.ValidID(id) {
			errs = append(errs, fmt.Errorf("operators: %.60q cannot be an id; use letters, digits and . _ : @ -", id))
		}
	}
	return errors.Join(errs...)
}

// CheckExchange returns an error for an exchange id that a reference server cannot use: it takes
// the text between the first two underscores of a key as the id.
func CheckExchange(id string) error {
	if strings.Contains(id, "_") {
		return fmt.Errorf("exchange: %q has a _, and reference servers reject the keys of such an exchange; use another id", id)
	}
	return nil
}

// New makes an exchange from the server that c reaches. It makes no connection.
func New(c *httpclient.Client, cfg Config) *Client {
	cfg.Poll, cfg.Settle = cmp.Or(cfg.Poll, defaultPoll), cmp.Or(cfg.Settle, defaultSettle)
	return &Client{
		c: c, cfg: cfg, log: c.Logger(), claims: map[string]*ownClaim{}, offered: map[string]time.Time{}, spelling: map[mess.Code]string{}, known: map[string]tagged{},
	}
}

// ownClaim is a thread that this executor has claimed. Client.mu guards it.
type ownClaim struct {
	epoch    uint64 // position of the claim among the messages, from 1; it grows with every claim
	read     int    // number of messages already read
	begun    bool   // two reads show no other start
	over     bool   // the executor has the report that it lost the thread
	reported time.Time
	inline   int // bytes of images for the report
}

func (f *Client) claimOf(ref string) (ownClaim, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.claims[ref]
	if h == nil {
		return ownClaim{}, false
	}
	return *h, true
}

// change changes a claim, if there is one.
func (f *Client) change(ref string, do func(*ownClaim)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.claims[ref]; h != nil {
		do(h)
	}
}

// drop forgets a thread, so that the client can offer it again.
func (f *Client) drop(ref string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.claims, ref)
	delete(f.offered, ref)
}

// Send translates a message into requests to the server. It answers like an exchange of messkit.
func (f *Client) Send(ctx context.Context, m mess.Message) (mess.Message, error) {
	ack, err := f.send(ctx, m)
	if err != nil {
		return mess.Message{}, err
	}
	return mess.Message{From: "exchange", Items: []mess.Item{&ack}}, nil
}

func (f *Client) send(ctx context.Context, m mess.Message) (mess.Ack, error) {
	for _, item := range m.Items {
		if c, ok := item.(*mess.Config); ok && c.Executor != nil {
			return f.register(ctx, *c.Executor)
		}
	}
	at := slices.IndexFunc(m.Items, func(i mess.Item) bool { return i.Kind() == mess.KindStatus })
	if len(m.Re) != 1 || at < 0 {
		return mess.Ack{}, mess.Errorf(mess.Invalid, "a server in the field takes a status of one thread, and nothing else")
	}
	say := statusUpdate{Client: f, ref: m.Re[0], id: m.ID, status: m.Items[at].(*mess.Status), items: m.Items}
	return say.send(ctx)
}

// statusUpdate is a status that goes into a thread.
type statusUpdate struct {
	*Client
	ref    string
	id     string // of the message
	status *mess.Status
	items  []mess.Item
}

func (s *statusUpdate) send(ctx context.Context) (mess.Ack, error) {
	h, held := s.claimOf(s.ref)
	switch code := s.status.Code; {
	case code == mess.Claimed:
		return s.claim(ctx)
	case code == mess.Delegated:
		return s.release(ctx)
	case code == mess.Declined && !held: // only the holder writes to a thread
		return mess.Ack{Status: mess.Pending}, nil
	case code.Terminal():
		return s.end(ctx)
	case !held || h.over:
		return mess.Ack{}, mess.Errorf(mess.StaleToken, "this executor does not hold %s any more", s.ref)
	case code == mess.InProgress && s.status.ActionHash != "":
		return s.start(ctx, h)
	case code == mess.InProgress:
		return s.progress(ctx, h)
	}
	return s.reportStatus(ctx, h)
}

// refuse returns an error with the status and holder of the thread.
func (s *statusUpdate) refuse(code mess.ErrorCode, t httpclient.Thread, format string, args ...any) error {
	r := mess.Errorf(code, format, args...)
	r.Ref, r.Status, r.Holder = s.ref, t.Status, t.Executor
	return r
}
