package reference

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/mess"
)

const (
	fieldAnswer = 16 << 20         // bytes; larger than every thread or list of a node
	fieldTime   = 90 * time.Second // for a whole response
)

// tagged is a response and its ETag.
type tagged struct {
	tag  string
	body []byte
	at   time.Time // the server's clock; zero if it does not send the time
}

// look reads a URL below the exchange with a conditional request.
func (f *Client) look(ctx context.Context, query url.Values, path ...string) (tagged, error) {
	u, err := f.c.Address(ctx, query, path...)
	if err != nil {
		return tagged{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, fieldTime)
	defer cancel()
	f.mu.Lock()
	was := f.known[u]
	f.mu.Unlock()
	r := httpclient.Request{Method: http.MethodGet, URL: u}
	if was.tag != "" {
		r.Head = http.Header{"If-None-Match": {was.tag}}
	}
	res, err := f.c.Call(ctx, r)
	if err != nil {
		return tagged{}, err
	}
	defer res.Body.Close()
	at, _ := http.ParseTime(res.Header.Get("Date"))
	if res.StatusCode == http.StatusNotModified {
		was.at = at
		return was, nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, fieldAnswer+1))
	if err != nil {
		return tagged{}, err
	}
	if len(body) > fieldAnswer {
		return tagged{}, mess.Errorf(mess.Unavailable, "the server's answer is larger than %d bytes", fieldAnswer)
	}
	is := tagged{res.Header.Get("ETag"), body, at}
	if is.tag != "" {
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.known) >= maxKnown {
			clear(f.known) // later requests read them again
		}
		f.known[u] = is
	}
	return is, nil
}

// maxKnown is the maximum number of cached responses.
const maxKnown = 64

// errNotThread means that a response is not a thread.
var errNotThread = errors.New("the answer is not what an exchange says; is this the right address?")

// read reads a thread, and the server's clock.
func (f *Client) read(ctx context.Context, ref string) (httpclient.Thread, time.Time, error) {
	got, err := f.look(ctx, nil, "requests", ref)
	if err != nil {
		return httpclient.Thread{}, got.at, err
	}
	var v struct{ Thread *looseThread }
	if json.Unmarshal(got.body, &v) != nil || v.Thread == nil || v.Thread.thread().Ref != ref {
		return httpclient.Thread{}, got.at, mess.Errorf(mess.Unavailable, "%s: %v", ref, errNotThread)
	}
	return v.Thread.thread(), got.at, nil
}

// list lists the threads that the server selects for a status. Some servers also return threads
// with another status.
func (f *Client) list(ctx context.Context, word string) ([]httpclient.Thread, error) {
	got, err := f.look(ctx, url.Values{"status": {word}}, "requests")
	if err != nil {
		return nil, err
	}
	var v struct{ Threads []looseThread }
	if json.Unmarshal(got.body, &v) != nil || v.Threads == nil {
		return nil, mess.Errorf(mess.Unavailable, "%v", errNotThread)
	}
	list := make([]httpclient.Thread, len(v.Threads))
	for i, t := range v.Threads {
		list[i] = t.thread()
	}
	return list, nil
}

// looseThread is a thread of a server that stores its input unchanged: times may be numbers, a
// status any value, and items a list, a single item, or text.
type looseThread struct {
	Ref       any `json:"ref"`
	Status    any `json:"status"`
	Intent    any `json:"intent"`
	Requester any `json:"requestor_id"`
	Executor  any `json:"executor_id"`
	Priority  any `json:"priority"`
	Created   any `json:"created_at"`
	Updated   any `json:"updated_at"`
	Messages  []struct {
		From any             `json:"from"`
		MESS json.RawMessage `json:"mess"`
	} `json:"messages"`
}

func (l looseThread) thread() httpclient.Thread {
	t := httpclient.Thread{
		Ref: text(l.Ref), Intent: text(l.Intent), Requester: text(l.Requester), Executor: text(l.Executor),
		Priority: mess.Priority(text(l.Priority)), Created: parseTime(l.Created), Updated: parseTime(l.Updated),
	}
	t.Status = codeOf(text(l.Status))
	for _, m := range l.Messages {
		var one mess.Message
		if one.UnmarshalJSON(m.MESS) != nil {
			one = mess.Message{} // unreadable, but it keeps its position
		}
		one.From, one.Re, one.Epoch, one.Ref = text(m.From), nil, 0, ""
		t.Messages = append(t.Messages, one)
	}
	return t
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// codeOf parses a status in either spelling. It returns an unknown status unchanged.
func codeOf(word string) mess.Code {
	if c, err := mess.ParseCode(word); err == nil {
		return c
	}
	return mess.Code(word)
}

// parseTime parses a time in any form of the servers; zero if it is invalid.
func parseTime(v any) time.Time {
	switch v := v.(type) {
	case string:
		at, _ := mess.Time(v).Time()
		return at
	case float64:
		if v > 0 && v < 1e12 {
			return time.Unix(int64(v), 0)
		}
	}
	return time.Time{}
}
