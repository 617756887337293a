package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/messkit/messkit/internal/cleantext"
	"github.com/messkit/messkit/internal/safehttp"
	"github.com/messkit/messkit/mess"
)

// The headers of a notification. A receiver checks the HMAC-SHA256 of timestamp, ".", delivery
// id, "." and body, drops notifications older than some minutes, and finds duplicates by the
// delivery id.
const (
	headerEvent     = "X-Mess-Event"
	headerDelivery  = "X-Mess-Delivery"
	headerTimestamp = "X-Mess-Timestamp" // Unix seconds of this attempt
	headerSignature = "X-Mess-Signature" // sha256= and 64 hexadecimal digits
)

// Sign returns the signature of a notification.
func Sign(secret []byte, timestamp, delivery string, body []byte) string {
	m := hmac.New(sha256.New, secret)
	fmt.Fprintf(m, "%s.%s.", timestamp, delivery) // a hash never fails
	m.Write(body)
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

// result is the result of an attempt.
type result struct {
	code  int // HTTP status, or 0 without an answer
	err   error
	final bool // another attempt would give the same result
}

var (
	errTooMany = errors.New("too many notifications wait for this receiver")
	errGone    = errors.New("the executor has no such address any more")
)

// maxMessages is the limit of a thread's messages in a notification, in bytes. Above it the
// notification has no messages.
const maxMessages = 256 << 10

// send sends a notification once, if the executor still has the address and a key.
func (h *Dispatcher) send(ctx context.Context, n notification) result {
	_, secret, ok := h.keys.Shared(n.Executor)
	switch {
	case !ok:
		return result{err: errGone, final: true}
	case n.Notice != nil && h.notices != nil && !h.notices.Holds(n.Notice.ID):
		return result{err: errSettled, final: true}
	case n.Push:
		return h.sendPush(ctx, n)
	}
	a, still := h.currentAddress(n)
	if !still {
		return result{err: errGone, final: true}
	}
	if a.secret != "" {
		secret = []byte(a.secret)
	}
	u, err := url.Parse(n.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return result{err: errors.New("it is not the address of a receiver; write it like https://example.com/hook"), final: true}
	}
	language := h.language(n.Executor)
	body, err := h.body(ctx, n, language)
	if err != nil {
		return result{err: err, final: true}
	}
	if a.ntfy {
		body = []byte(cleantext.Text(textOf(n, language)))
	}
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL, bytes.NewReader(body))
	if err != nil {
		return result{err: errors.New("it is not the address of a receiver"), final: true}
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	for k, v := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "messkit", headerEvent: n.Event, headerDelivery: n.ID,
		headerTimestamp: at, headerSignature: Sign(secret, at, n.ID, body),
	} {
		req.Header.Set(k, v)
	}
	if a.ntfy { // ntfy shows the body; https://docs.ntfy.sh/publish/
		req.Header.Set("Content-Type", "text/plain; charset=utf-8")
		req.Header.Set("Title", mime.QEncoding.Encode("utf-8", titleOf(n, language))) // a header is ASCII; ntfy decodes it
	}
	res, err := safehttp.Send(h.client, req)
	if no, ok := errors.AsType[*forbidden](err); ok {
		return result{err: no, final: true}
	}
	if err != nil {
		return result{err: err}
	}
	return resultOf(res.StatusCode)
}

// resultOf returns what an HTTP status means. The sender does not repeat a notification that
// the receiver calls wrong.
func resultOf(code int) result {
	r := result{code: code}
	switch {
	case code/100 == 2:
		return r
	case code/100 == 3:
		r.final = true
		r.err = fmt.Errorf("%d: messkit follows no redirects; register the address that it points to", code)
		return r
	case code/100 == 4:
		r.final = !slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}, code)
	}
	r.err = fmt.Errorf("the receiver answers %d", code)
	return r
}

// currentAddress returns the address that the executor has registered now for the URL of a
// notification.
func (h *Dispatcher) currentAddress(n notification) (address, bool) {
	profile, _ := h.profile(n.Executor)
	for _, a := range addressesOf(profile) {
		if a.url == n.URL {
			return a, true
		}
	}
	return address{}, false
}

// sentMessage is a message in a notification.
type sentMessage struct {
	From string          `json:"from"`
	TS   string          `json:"ts"`
	MESS json.RawMessage `json:"mess"`
}

// body returns a notification in the form of the MESS reference servers, with a title and a body in a language. The summary has the
// status at the time of the event. The messages are those that the executor may read now.
func (h *Dispatcher) body(ctx context.Context, n notification, language string) ([]byte, error) {
	v := struct {
		Title  string `json:"title"`
		Body   string `json:"body"`
		Thread struct {
			summary
			Messages []sentMessage `json:"messages,omitempty"`
		} `json:"thread"`
		Event string `json:"event_type"`
	}{Event: n.Event}
	v.Title, v.Body = webhookWords(n, language)
	v.Thread.summary = n.Thread
	if n.Event == testEvent {
		v.Thread.Intent = v.Body
	}
	if n.Event == changedEvent {
		v.Thread.Messages = h.messages(ctx, n)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return cleantext.EscapeJSON(bytes.TrimRight(b.Bytes(), "\n")), err
}

func (h *Dispatcher) messages(ctx context.Context, n notification) (list []sentMessage) {
	actor, _, _ := h.keys.Shared(n.Executor)
	t, err := h.x.Thread(ctx, actor, n.Thread.Ref)
	if err != nil {
		return nil // the executor may not see the thread any more
	}
	size := 0
	for _, m := range t.Messages {
		text := mess.Message(m).ListJSON()
		if size += len(text); size > maxMessages {
			return nil
		}
		at, _ := m.Received.Time()
		list = append(list, sentMessage{m.From, formatTime(at), text})
	}
	return list
}

// forbidden is the error for an address that the exchange may not connect to.
type forbidden struct{ ip netip.Addr }

func (f *forbidden) Error() string {
	return fmt.Sprintf("%s is not on the public internet; exchange: webhooks: allow: [%s] would let it", f.ip, netip.PrefixFrom(f.ip, f.ip.BitLen()))
}

// newClient returns a client that connects to the public internet and to the allowed networks.
func newClient(cfg Config) *http.Client {
	return safehttp.Client(safehttp.Config{Check: cfg.check, Connect: cfg.Timeout})
}

// check returns an error if the configuration does not allow connections to an address.
func (c Config) check(ip netip.Addr) error {
	if safehttp.In(ip, c.Allow) || safehttp.Public(ip) {
		return nil
	}
	return &forbidden{safehttp.Plain(ip)}
}
