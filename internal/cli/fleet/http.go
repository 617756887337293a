package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// web is an exchange over HTTP. All posts share a few connections.
type web struct {
	host   string // with its port
	base   string // of all paths of the exchange
	client *http.Client
}

func newWeb(host, exchange string, connections int) *web {
	t := &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections, IdleConnTimeout: time.Minute}
	return &web{host: host, base: "http://" + host + "/api/v1/exchanges/" + exchange, client: &http.Client{Transport: t}}
}

// do sends a request and decodes a JSON answer of the 200s into v.
func (w *web) do(ctx context.Context, method, url, key string, body []byte, v any) error {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+key)
	res, err := w.client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // 0 without it
		refused := &refusal{code: res.StatusCode, retry: time.Duration(seconds) * time.Second}
		_ = json.Unmarshal(text, &refused.answer) // without words the code counts
		return refused
	}
	return json.Unmarshal(text, v)
}

// maxAnswer is the largest answer that the fleet reads, in bytes.
const maxAnswer = 64 << 20

// refusal is an answer of HTTP with an error.
type refusal struct {
	code  int
	retry time.Duration // the exchange asks for this pause
	answer
}

func (r *refusal) Error() string { return fmt.Sprintf("HTTP %d: %s", r.code, r.answer.Error) }

// httpLine is one actor over HTTP: its own stream of events, and posts over the shared
// connections.
type httpLine struct {
	*web
	key   string
	query string // of the stream

	last string // id of the last event
}

var _ line = (*httpLine)(nil)

// post posts a message and returns the answer.
func (l *httpLine) post(ctx context.Context, _ string, text []byte) (answer, error) {
	var s incoming
	err := l.do(ctx, http.MethodPost, l.base+"/mess", l.key, text, &s)
	if r, ok := errors.AsType[*refusal](err); ok {
		if r.code == http.StatusTooManyRequests || r.code >= 500 {
			return answer{}, &countedError{fmt.Sprintf("HTTP %d", r.code), err}
		}
		if r.ErrorCode == "" {
			r.ErrorCode = fmt.Sprintf("HTTP %d", r.code)
		}
		return r.answer, nil
	}
	if err != nil {
		return answer{}, err
	}
	if a := s.ack(); a != nil {
		return *a, nil
	}
	return answer{}, &countedError{"an answer without an ack", errors.New("the exchange acknowledges nothing")}
}

// listen follows the events.
func (l *httpLine) listen(ctx context.Context, ready func(context.Context) error, receive func(incoming), broken func(error)) error {
	reconnect(ctx, l.host, func(ctx context.Context, conn net.Conn) error { return l.stream(ctx, conn, ready, receive) }, broken)
	return nil
}

// silence is the longest time without data on a stream. The exchange sends a heartbeat every 15
// s.
const silence = time.Minute

// stream follows one stream on a new connection until it ends. It needs one goroutine besides the connection, since
// thousands of executors listen at the same time.
func (l *httpLine) stream(ctx context.Context, conn net.Conn, ready func(context.Context) error, receive func(incoming)) error {
	_ = conn.SetDeadline(time.Now().Add(silence)) // a TCP connection has deadlines
	resume := ""
	if l.last != "" {
		resume = "Last-Event-ID: " + l.last + "\r\n"
	}
	path := strings.TrimPrefix(l.base, "http://"+l.host)
	if _, err := fmt.Fprintf(conn, "GET %s/events?%s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nAuthorization: Bearer %s\r\n%s\r\n", path, l.query, l.host, l.key, resume); err != nil {
		return err
	}
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 1<<10), nil)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return &countedError{fmt.Sprintf("HTTP %d", res.StatusCode), errors.New("no stream of events")}
	}
	in := bufio.NewReaderSize(res.Body, 1<<10)
	began := false
	for {
		_ = conn.SetReadDeadline(time.Now().Add(silence)) // as above
		e, err := readEvent(in)
		if err != nil {
			return err
		}
		if !began || e.name == "reset" {
			if began = true; ready != nil {
				if err := ready(ctx); err != nil {
					return err
				}
			}
		}
		if e.id != "" {
			l.last = e.id
		}
		if e.name != "message" {
			continue
		}
		if s, ok := eventOf(e.data); ok {
			receive(s)
		}
	}
}

// eventOf reads the message of an event, or the status of a thread for a requester.
func eventOf(data []byte) (incoming, bool) {
	var v struct {
		Thread struct {
			Ref    string `json:"ref"`
			Status string `json:"status"`
		} `json:"thread"`
	}
	s, ok := parse(data)
	if !ok || json.Unmarshal(data, &v) != nil {
		return s, false
	}
	if v.Thread.Ref != "" {
		text := update("", v.Thread.Ref, v.Thread.Status)
		return parse(text)
	}
	return s, true
}

// event is a server-sent event.
type event struct {
	id, name string
	data     []byte
}

// maxEvent is the largest event that the fleet reads, in bytes.
const maxEvent = 1 << 20

// readEvent reads an event or a comment.
func readEvent(r *bufio.Reader) (e event, err error) {
	for size := 0; ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return event{}, err
		}
		if size += len(line); size > maxEvent {
			return event{}, fmt.Errorf("an event of more than %d bytes", maxEvent)
		}
		line = bytes.TrimRight(line, "\r\n")
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "":
			if len(line) == 0 {
				return e, nil
			}
		case "id":
			e.id = string(value)
		case "event":
			e.name = string(value)
		case "data":
			e.data = append(e.data, value...)
		}
	}
}
