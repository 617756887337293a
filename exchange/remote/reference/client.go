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

// Field is the exchange on one of the servers that are in the field, for an
// executor. Such a server keeps no leases, checks no step, and lets many claim
// the same thread; Field does what can be done about that from outside. It reads
// back what it writes, and lets nothing begin unless the thread says twice that
// it is this executor's and nobody else's.
//
// A server that writes whole threads back as it read them can still lose what
// was said meanwhile; see docs/reference/http.md for what that leaves open.
type Client struct {
	c   *httpclient.Client
	cfg Config
	log *slog.Logger

	mu      sync.Mutex
	holds   map[string]*hold     // by thread
	offered map[string]time.Time // when threads that wait for a claim, and were looked at, had changed last
	words   map[mess.Code]string // how the server spells a status, once it has taken one
	known   map[string]tagged    // what an address has said last
}

// Config says how a server in the field is worked with.
type Config struct {
	Executor string // this executor's id there
	// Operators are those whose yes counts where a person other than the requester
	// must say it. The server knows no such role.
	Operators []string
	Poll      time.Duration // between two looks for news; 0: 2 s
	Settle    time.Duration // the longest wait before each of the two looks at a claim; 0: 400 ms
}

const (
	defaultPoll   = 2 * time.Second
	defaultSettle = 400 * time.Millisecond
	longestPause  = 30 * time.Second // between two looks at a server that does not answer
)

// Validate tells every setting that cannot be. Zero is the default.
func (c Config) Validate() error {
	var errs []error
	if c.Poll != 0 && (c.Poll < 200*time.Millisecond || c.Poll > 10*time.Minute) {
		errs = append(errs, fmt.Errorf("poll: %v is not between 200ms and 10m", c.Poll))
	}
	if c.Settle != 0 && (c.Settle < 50*time.Millisecond || c.Settle > 800*time.Millisecond) {
		// The exchange's word at the start may be 2 s old, and it takes two looks.
		errs = append(errs, fmt.Errorf("settle: %v is not between 50ms and 800ms", c.Settle))
	}
	for _, id := range c.Operators {
		if !mess.ValidID(id) {
			errs = append(errs, fmt.Errorf("operators: %.60q cannot be an id; use letters, digits and . _ : @ -", id))
		}
	}
	return errors.Join(errs...)
}

// CheckExchange tells why an id cannot be that of an exchange on a server in
// the field: there a key is read as the text between its first two underscores.
func CheckExchange(id string) error {
	if strings.Contains(id, "_") {
		return fmt.Errorf("exchange: %q has a _, and keys of such an exchange are never let in on servers in the field; use another id", id)
	}
	return nil
}

// New makes the exchange of a server that c reaches. It does not reach out.
func New(c *httpclient.Client, cfg Config) *Client {
	cfg.Poll, cfg.Settle = cmp.Or(cfg.Poll, defaultPoll), cmp.Or(cfg.Settle, defaultSettle)
	return &Client{
		c: c, cfg: cfg, log: c.Logger(), holds: map[string]*hold{}, offered: map[string]time.Time{}, words: map[mess.Code]string{}, known: map[string]tagged{},
	}
}

// hold is a thread that this executor has claimed. It is guarded by Client.mu.
type hold struct {
	epoch  uint64 // the place of the claim among the messages, from 1: it grows with every claim
	read   int    // how many messages were looked at
	begun  bool   // it was seen twice that nobody else has begun
	over   bool   // the executor was told that it is not its own any more
	told   time.Time
	inline int // bytes of pictures that go into the report
}

func (f *Client) hold(ref string) (hold, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.holds[ref]
	if h == nil {
		return hold{}, false
	}
	return *h, true
}

// change changes a hold, if there is one.
func (f *Client) change(ref string, do func(*hold)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.holds[ref]; h != nil {
		do(h)
	}
}

// drop forgets a thread: it may be offered again.
func (f *Client) drop(ref string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.holds, ref)
	delete(f.offered, ref)
}

// Send says to the server what a message means there, and answers as an exchange
// of ours would.
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

// statusUpdate is a status on its way into a thread.
type statusUpdate struct {
	*Client
	ref    string
	id     string // of the message
	status *mess.Status
	items  []mess.Item
}

func (s *statusUpdate) send(ctx context.Context) (mess.Ack, error) {
	h, held := s.hold(s.ref)
	switch code := s.status.Code; {
	case code == mess.Claimed:
		return s.claim(ctx)
	case code == mess.Delegated:
		return s.release(ctx)
	case code == mess.Declined && !held: // who does not hold a thread does not write to it
		return mess.Ack{Status: mess.Pending}, nil
	case code.Terminal():
		return s.end(ctx)
	case !held || h.over:
		return mess.Ack{}, mess.Errorf(mess.StaleToken, "%s is not held here any more", s.ref)
	case code == mess.InProgress && s.status.ActionHash != "":
		return s.start(ctx, h)
	case code == mess.InProgress:
		return s.progress(ctx, h)
	}
	return s.tell(ctx, h)
}

// refuse is a "no" that says how the thread stands.
func (s *statusUpdate) refuse(why mess.ErrorCode, t httpclient.Thread, format string, args ...any) error {
	r := mess.Errorf(why, format, args...)
	r.Ref, r.Status, r.Holder = s.ref, t.Status, t.Executor
	return r
}
