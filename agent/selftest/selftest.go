// Package selftest lets a diagnostic command ask the messkit process that owns a data folder to
// use its devices. No other process can use them while that one runs.
//
// It knows no devices, and not how to use one.
package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/localrpc"
)

// socket names the local socket for questions, together with the data folder.
const socket = "trial"

// Device is one device of a configuration.
type Device struct {
	Name     string `json:"name"`
	Settings string `json:"settings"` // hash of the settings: equal hashes mean equal settings
}

// Query names the devices to use, and a request to plan.
type Query struct {
	Devices []Device `json:"devices"`
	Plan    *Request `json:"plan,omitempty"`
}

// Request is a request to plan without carrying it out.
type Request struct {
	Intent   string   `json:"intent"`
	Requires []string `json:"requires,omitempty"`
	Context  []string `json:"context,omitempty"`
}

// Plan describes the effects of a request, as text and as JSON.
type Plan struct {
	Text string          `json:"text"`
	JSON json.RawMessage `json:"json"`
}

// Response is the answer of the running messkit.
type Response struct {
	Rejected string    `json:"refused,omitempty"` // why it does not answer; the other fields are then empty
	Config   string    `json:"config,omitempty"`  // absolute path of its configuration; "" for the built-in one
	URL      string    `json:"url,omitempty"`     // address of its exchange; "" if that is elsewhere, or not ready
	Began    time.Time `json:"began"`
	Devices  []Result  `json:"devices"` // all its devices
	// Executor and Plan answer a Question with a Plan.
	Executor string `json:"executor,omitempty"`
	Plan     *Plan  `json:"plan,omitempty"`
}

// Result is the result of one device.
type Result struct {
	Device
	Used bool   `json:"used"` // the question contained it with equal settings, and it was used
	OK   bool   `json:"ok"`
	Note bool   `json:"note,omitempty"` // it works, and a person should know of something
	Text string `json:"says,omitempty"` // the result in words
}

var (
	// ErrNotRunning reports that no messkit runs with a folder, or that it does not answer.
	ErrNotRunning = errors.New("no running messkit answers")
	// ErrRejected reports that it only answers its own user and root.
	ErrRejected = errors.New("it answers only its own user and root")
)

const (
	queryTimeout  = time.Minute // for sending a question, and for an answer
	maxQuery      = 1 << 20     // bytes of a question, as large as a configuration
	maxResponse   = 8 << 20     // bytes of an answer, with long errors
	maxConcurrent = 4           // simultaneous answers
)

// Ask asks the messkit that runs with a folder to use devices. It may take queryTimeout.
func Ask(ctx context.Context, folder string, q Query) (a Response, err error) {
	conn, err := localrpc.Dial(socket, folder)
	if err != nil {
		return Response{}, errors.Join(ErrNotRunning, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	switch err := localrpc.Ask(conn, q, &a, queryTimeout, maxResponse); {
	case err != nil:
		return Response{}, fmt.Errorf("%w: %w", ErrNotRunning, err)
	case a.Rejected != "":
		return Response{}, fmt.Errorf("%w: %s", ErrRejected, a.Rejected)
	}
	return a, nil
}

// Serve answers local operators until ctx ends; use answers each question. If it cannot open
// its socket, it returns at once.
func Serve(ctx context.Context, folder string, use func(context.Context, Query) Response, log *slog.Logger) error {
	l, err := localrpc.Listen(socket, folder)
	if err != nil {
		log.Debug("messkit doctor cannot ask this program to use its devices", "err", err)
		return nil
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var g errgroup.Group
	g.SetLimit(maxConcurrent)
	for {
		conn, err := l.Accept()
		if err != nil {
			return g.Wait() // ctx has ended, or the socket has failed
		}
		g.Go(func() error {
			if err := answer(ctx, conn, use); err != nil {
				log.Debug("cannot answer a query about the devices", "err", err)
			}
			return nil
		})
	}
}

// answer answers one question.
func answer(ctx context.Context, conn net.Conn, use func(context.Context, Query) Response) (err error) {
	defer func() { err = errors.Join(err, conn.Close()) }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if err := localrpc.Allowed(conn); err != nil { // it reads nothing from other users
		return errors.Join(err, conn.SetDeadline(time.Now().Add(time.Second)), json.NewEncoder(conn).Encode(Response{Rejected: err.Error()}))
	}
	raw, err := localrpc.Asked(conn, queryTimeout, maxQuery)
	if err != nil {
		return err
	}
	q, err := parse(raw)
	if err != nil {
		return errors.Join(err, json.NewEncoder(conn).Encode(Response{Rejected: err.Error()}))
	}
	return json.NewEncoder(conn).Encode(use(ctx, q))
}

// parse decodes a question. With an error it returns the zero question.
func parse(data []byte) (Query, error) {
	var q Query
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return Query{}, err
	}
	for _, one := range q.Devices {
		if one.Name == "" || one.Settings == "" {
			return Query{}, errors.New("a device without a name, or without its settings, cannot be used")
		}
	}
	return q, nil
}
