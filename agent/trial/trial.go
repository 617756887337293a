// Package trial is how who looks what is wrong asks the messkit that has the
// devices of a data folder to use them: nobody else can while it runs.
//
// It knows no devices, and not what using one is.
package trial

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

	"github.com/messkit/messkit/internal/atplace"
)

// socket is what a trial is asked by, with the data folder.
const socket = "trial"

// Device is one device of a configuration.
type Device struct {
	Name     string `json:"name"`
	Settings string `json:"settings"` // a sum of them: two devices with the same are set alike
}

// Question is the devices that are to be used, and what is to be planned.
type Question struct {
	Devices []Device `json:"devices"`
	Plan    *Request `json:"plan,omitempty"`
}

// Request is a request that is planned and not done.
type Request struct {
	Intent   string   `json:"intent"`
	Requires []string `json:"requires,omitempty"`
	Context  []string `json:"context,omitempty"`
}

// Plan is what a request would do, in words and for programs.
type Plan struct {
	Text string          `json:"text"`
	JSON json.RawMessage `json:"json"`
}

// Answer is what the messkit that runs says.
type Answer struct {
	Refused string    `json:"refused,omitempty"` // why it does not answer; then nothing else is told
	Config  string    `json:"config,omitempty"`  // its file, as an absolute path; "" for what is built in
	URL     string    `json:"url,omitempty"`     // of its exchange; "" where that is elsewhere, or not there yet
	Began   time.Time `json:"began"`
	Devices []Result  `json:"devices"` // all that it has
	// Executor and Plan answer a Question with a Plan.
	Executor string `json:"executor,omitempty"`
	Plan     *Plan  `json:"plan,omitempty"`
}

// Result is one device that it has.
type Result struct {
	Device
	Used bool   `json:"used"` // it was asked for with the same settings, and was used
	OK   bool   `json:"ok"`
	Note bool   `json:"note,omitempty"` // it is in order, and yet somebody should know
	Says string `json:"says,omitempty"` // what came of it, in words
}

var (
	// ErrNobody says that no messkit runs with a folder, or none that can be asked.
	ErrNobody = errors.New("nobody answers for it")
	// ErrRefused says that it answers its own user alone.
	ErrRefused = errors.New("it answers its own user and root alone")
)

const (
	askTime   = time.Minute // for a question to be sent, and for an answer
	maxAsk    = 1 << 20     // bytes of a question: a configuration has as many at most
	maxAnswer = 8 << 20     // bytes of an answer, with long errors
	atOnce    = 4           // questions that are answered at the same time
)

// Ask has the messkit that runs with a folder use devices. It may take askTime.
func Ask(ctx context.Context, folder string, q Question) (a Answer, err error) {
	conn, err := atplace.Dial(socket, folder)
	if err != nil {
		return Answer{}, errors.Join(ErrNobody, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	switch err := atplace.Ask(conn, q, &a, askTime, maxAnswer); {
	case err != nil:
		return Answer{}, fmt.Errorf("%w: %w", ErrNobody, err)
	case a.Refused != "":
		return Answer{}, fmt.Errorf("%w: %s", ErrRefused, a.Refused)
	}
	return a, nil
}

// Serve answers who is at the place until ctx ends, with what use makes of each
// question. Where nobody can ask it returns at once.
func Serve(ctx context.Context, folder string, use func(context.Context, Question) Answer, log *slog.Logger) error {
	l, err := atplace.Listen(socket, folder)
	if err != nil {
		log.Debug("messkit doctor cannot ask this program to use its devices", "err", err)
		return nil
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var g errgroup.Group
	g.SetLimit(atOnce)
	for {
		conn, err := l.Accept()
		if err != nil {
			return g.Wait() // ctx has ended, or nobody can ask any more
		}
		g.Go(func() error {
			if err := answer(ctx, conn, use); err != nil {
				log.Debug("a question about the devices was not answered", "err", err)
			}
			return nil
		})
	}
}

// answer answers one question.
func answer(ctx context.Context, conn net.Conn, use func(context.Context, Question) Answer) (err error) {
	defer func() { err = errors.Join(err, conn.Close()) }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if err := atplace.Allowed(conn); err != nil { // nothing of a stranger is read
		return errors.Join(err, conn.SetDeadline(time.Now().Add(time.Second)), json.NewEncoder(conn).Encode(Answer{Refused: err.Error()}))
	}
	raw, err := atplace.Asked(conn, askTime, maxAsk)
	if err != nil {
		return err
	}
	q, err := parse(raw)
	if err != nil {
		return errors.Join(err, json.NewEncoder(conn).Encode(Answer{Refused: err.Error()}))
	}
	return json.NewEncoder(conn).Encode(use(ctx, q))
}

// parse reads a question. An error goes with the zero question.
func parse(data []byte) (Question, error) {
	var q Question
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return Question{}, err
	}
	for _, one := range q.Devices {
		if one.Name == "" || one.Settings == "" {
			return Question{}, errors.New("a device without a name, or without its settings, cannot be used")
		}
	}
	return q, nil
}
