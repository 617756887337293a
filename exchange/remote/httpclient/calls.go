package httpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Send posts a message and returns the immediate answer of the exchange.
func (c *Client) Send(ctx context.Context, m mess.Message) (mess.Message, error) {
	var answer mess.Message
	m.Version = cmp.Or(m.Version, mess.Current)
	err := c.post(ctx, m, &answer, "mess")
	return answer, err
}

// MaxFile is the maximum size of a file that a client reads into memory for an upload, in bytes.
// The limit of the exchange is lower; the exchange reports it.
const MaxFile = 64 << 20

// Attach uploads a file for a thread. If the connection breaks, it tries once more: the upload
// is idempotent.
func (c *Client) Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error) {
	all, err := io.ReadAll(io.LimitReader(data, MaxFile+1))
	if err != nil {
		return mess.Media{}, fmt.Errorf("%s: %w", name, err)
	}
	if len(all) > MaxFile {
		return mess.Media{}, mess.Errorf(mess.TooLarge, "%s: larger than %d bytes", name, MaxFile)
	}
	u, err := c.Address(ctx, nil, "requests", ref, "attachments", name)
	if err != nil {
		return mess.Media{}, err
	}
	put := Request{Method: http.MethodPut, URL: u, MIME: mime, Body: all}
	var m mess.Media
	if err = c.Fetch(ctx, put, &m); errors.Is(err, mess.Unavailable) && ctx.Err() == nil {
		m = mess.Media{}
		err = c.Fetch(ctx, put, &m)
	}
	if err != nil {
		return mess.Media{}, err
	}
	return m, nil
}

// Attachment opens a file of a thread. The caller closes it.
func (c *Client) Attachment(ctx context.Context, ref, name string) (data io.ReadCloser, mime string, err error) {
	u, err := c.Address(ctx, nil, "requests", ref, "attachments", name)
	if err != nil {
		return nil, "", err
	}
	res, err := c.Call(ctx, Request{Method: http.MethodGet, URL: u})
	if err != nil {
		return nil, "", err
	}
	return res.Body, res.Header.Get("Content-Type"), nil
}

// Register registers an actor and returns its key. An exchange on another host requires an
// enrollment code.
func (c *Client) Register(ctx context.Context, id, name, enrollCode string) (Secret, error) {
	var v struct {
		Key string `json:"api_key"`
	}
	err := c.post(ctx, map[string]string{"executor_id": id, "display_name": name, "enrol": enrollCode}, &v, "register")
	if err == nil && v.Key == "" {
		err = mess.Errorf(mess.Unavailable, "the exchange gave no key")
	}
	return Secret(v.Key), err
}

// Thread is a thread as the exchange reports it.
type Thread struct {
	Ref       string
	Status    mess.Code
	Intent    string
	Requester string
	Executor  string // "" before the first claim
	Priority  mess.Priority
	Created   time.Time
	Updated   time.Time
	Messages  []mess.Message // nil in lists and events
}

// threadJSON is a thread on the wire.
type threadJSON struct {
	Ref       string        `json:"ref"`
	Status    string        `json:"status"`
	Intent    string        `json:"intent"`
	Requester string        `json:"requestor_id"`
	Executor  string        `json:"executor_id"`
	Priority  mess.Priority `json:"priority"`
	Created   mess.Time     `json:"created_at"`
	Updated   mess.Time     `json:"updated_at"`
	Messages  []messageJSON `json:"messages"`
}

type messageJSON struct {
	From  string    `json:"from"`
	TS    mess.Time `json:"ts"`
	MESS  items     `json:"mess"`
	Ref   string    `json:"ref"`
	Re    mess.Refs `json:"re"`
	Epoch uint64    `json:"epoch"`
}

// items is a list of items alone.
type items mess.Message

// UnmarshalJSON reads the list.
func (i *items) UnmarshalJSON(data []byte) error {
	return (*mess.Message)(i).UnmarshalJSON(data)
}

func (t threadJSON) thread() Thread {
	created, _ := t.Created.Time() // a server may leave them out
	updated, _ := t.Updated.Time()
	code, err := mess.ParseCode(t.Status)
	if err != nil {
		code = mess.Code(t.Status)
	}
	out := Thread{
		Ref: t.Ref, Status: code, Intent: t.Intent, Requester: t.Requester, Executor: t.Executor, Priority: t.Priority,
		Created: created, Updated: updated,
	}
	for _, m := range t.Messages {
		one := mess.Message(m.MESS)
		one.From, one.Received, one.Ref, one.Re, one.Epoch = m.From, m.TS, m.Ref, m.Re, m.Epoch
		out.Messages = append(out.Messages, messeaf.Unnamed(t.Ref, one))
	}
	return out
}

// Thread reads a thread.
func (c *Client) Thread(ctx context.Context, ref string) (Thread, error) {
	var v struct {
		Thread threadJSON `json:"thread"`
	}
	err := c.get(ctx, &v, nil, "requests", ref)
	return v.Thread.thread(), err
}

// Filter selects threads; a zero field selects all.
type Filter struct {
	Status     string
	Executor   string
	Requester  string
	Capability string    // one that the request requires
	Device     string    // EXECUTOR:DEVICE, or a name that only one executor has
	Since      time.Time // changed at or after
	Limit      int       // 0: one page, of the length that the exchange chooses
}

// maxPage is the maximum page length of an exchange.
const maxPage = 1000

func (f Filter) query(cursor string, left int) url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"status": f.Status, "executor": f.Executor, "requestor": f.Requester, "capability": f.Capability, "device": f.Device, "cursor": cursor,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if !f.Since.IsZero() {
		q.Set("since", string(mess.TimeOf(f.Since)))
	}
	if left > 0 {
		q.Set("limit", strconv.Itoa(min(left, maxPage)))
	}
	return q
}

// List reads threads without their messages, newest change first.
func (c *Client) List(ctx context.Context, f Filter) ([]Thread, error) {
	list, cursor := []Thread{}, ""
	for {
		var page struct {
			Threads []threadJSON `json:"threads"`
			Cursor  string       `json:"cursor"`
		}
		if err := c.get(ctx, &page, f.query(cursor, f.Limit-len(list)), "requests"); err != nil {
			return nil, err
		}
		for _, t := range page.Threads {
			list = append(list, t.thread())
		}
		if cursor = page.Cursor; cursor == "" || len(page.Threads) == 0 || len(list) >= f.Limit {
			return list, nil
		}
	}
}

// Executor is a registered executor.
type Executor struct {
	ID           string            `json:"id"`
	Name         string            `json:"display_name"`
	Capabilities []mess.Capability `json:"capabilities"`
	Availability mess.Availability `json:"availability"` // "" is always
	Schedule     string            `json:"schedule"`     // cron, where Availability is schedule
	LastSeen     mess.Time         `json:"last_seen"`
	Live         bool              `json:"live"`     // recent heartbeat
	Disarmed     string            `json:"disarmed"` // reason why it offers queries only; "" if it offers all
	Stopped      *mess.StopState   `json:"stopped"`  // nil: it has not reported a stop
	Stopping     []mess.Stop       `json:"stopping"` // stops without its confirmation
	DrainReport  *mess.DrainState  `json:"held"`     // nil: it has not reported that it drains
	DrainOrder   *mess.DrainOrder  `json:"hold"`     // drain order at the exchange; nil if none
	Failing      []mess.Failing    `json:"failing"`  // devices whose last use has failed; for operators
	Battery      *mess.Battery     `json:"battery"`  // of its machine; nil: it reports none
}

// Executors lists the registered executors.
func (c *Client) Executors(ctx context.Context) ([]Executor, error) {
	var v struct {
		Executors []Executor `json:"executors"`
	}
	err := c.get(ctx, &v, nil, "executors")
	return v.Executors, err
}

// Device is a device in the home of an exchange.
type Device struct {
	ID          string       `json:"id"` // EXECUTOR:DEVICE
	Name        string       `json:"name"`
	Area        string       `json:"area,omitempty"`
	Class       string       `json:"class,omitempty"`
	State       string       `json:"state"`
	AsOf        mess.Time    `json:"as_of,omitempty"`
	Doing       string       `json:"doing,omitempty"`
	Readings    []Reading    `json:"readings,omitempty"`
	Reachable   bool         `json:"reachable"`
	Unreachable *Unreachable `json:"unreachable,omitempty"`
	Locked      string       `json:"locked,omitempty"`
	Verbs       []Verb       `json:"verbs"`
}

// Reading is one known value of a device.
type Reading struct {
	Quantity string    `json:"quantity"`
	Value    float64   `json:"value"`
	Unit     string    `json:"unit,omitempty"`
	AsOf     mess.Time `json:"as_of,omitempty"`
}

// Unreachable says since when and why a device does not work.
type Unreachable struct {
	Since  mess.Time `json:"since,omitempty"`
	Reason string    `json:"reason"`
}

// Verb is a capability of a device.
type Verb struct {
	Verb       string          `json:"verb"`
	Effect     string          `json:"effect,omitempty"`
	Parameters json.RawMessage `json:"parameters,omitempty"` // by name
}

// Devices lists the devices of all executors.
func (c *Client) Devices(ctx context.Context) ([]Device, error) {
	var v struct {
		Devices []Device `json:"devices"`
	}
	err := c.get(ctx, &v, nil, "home")
	return v.Devices, err
}

// Made is a request that the exchange has made for a verb of a device.
type Made struct {
	Ref    string    `json:"ref"`
	Status mess.Code `json:"status"`
	Device string    `json:"device"` // EXECUTOR:DEVICE
	Verb   string    `json:"verb"`
}

// Operate requests a verb of a device. The same key again has the same thread; "" is none.
func (c *Client) Operate(ctx context.Context, device, verb string, args mess.Object, key string) (made Made, err error) {
	u, err := c.Address(ctx, nil, "devices", device, verb)
	if err != nil {
		return made, err
	}
	body, err := json.Marshal(args)
	if err != nil {
		return made, err
	}
	r := Request{Method: http.MethodPost, URL: u, MIME: "application/json", Body: body, Head: http.Header{}}
	if key != "" {
		r.Head.Set("Idempotency-Key", key)
	}
	return made, c.Fetch(ctx, r, &made)
}

// Forget deregisters an executor and returns the number of stops without its confirmation. It
// requires the role operator.
func (c *Client) Forget(ctx context.Context, id string) (stops int, err error) {
	u, err := c.Address(ctx, nil, "executors", id)
	if err != nil {
		return 0, err
	}
	var v struct {
		Stopping int `json:"stopping"`
	}
	err = c.Fetch(ctx, Request{Method: http.MethodDelete, URL: u}, &v)
	return v.Stopping, err
}

// Status reads the status of the exchange's process into v. It requires the role operator.
func (c *Client) Status(ctx context.Context, v any) error {
	return c.get(ctx, v, nil, "status")
}

// Metrics opens the metrics of the exchange, in the text format of Prometheus. The caller closes them.
// They require the role observer or operator.
func (c *Client) Metrics(ctx context.Context) (io.ReadCloser, error) {
	res, err := c.Call(ctx, Request{Method: http.MethodGet, URL: c.base + "/metrics"})
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// Delivery is the delivery record of one notification to an executor's webhook.
type Delivery struct {
	ID       string    `json:"id"`
	Executor string    `json:"executor"`
	Event    string    `json:"event_type"`
	Ref      string    `json:"ref"`
	To       string    `json:"to"`
	Made     time.Time `json:"made"`
	At       time.Time `json:"at"`
	Tries    int       `json:"tries"`
	State    string    `json:"state"`
	Code     int       `json:"code,omitempty"`
	Err      string    `json:"error,omitempty"`
}

// Webhooks returns the delivery log of notifications, newest first.
func (c *Client) Webhooks(ctx context.Context) ([]Delivery, error) {
	var v struct {
		Deliveries []Delivery `json:"deliveries"`
	}
	err := c.get(ctx, &v, nil, "webhooks")
	return v.Deliveries, err
}

// Capability is an entry of the exchange's capability catalog.
type Capability struct {
	ID          string   `json:"id"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
}

// Capabilities lists the exchange's capability catalog.
func (c *Client) Capabilities(ctx context.Context) ([]Capability, error) {
	var v struct {
		Capabilities []Capability `json:"capabilities"`
	}
	err := c.get(ctx, &v, nil, "capabilities")
	return v.Capabilities, err
}
