package stop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/messkit/messkit/internal/localrpc"
)

// socket names the local socket for questions about the stop, together with the data folder.
const socket = "stop"

// State is the stop state of a running program, in memory and on the disk.
type State struct {
	Orders  []Order  `json:"orders"`            // active orders
	Unsaved []Order  `json:"unsaved,omitempty"` // active orders that are in memory alone
	Cleared []Order  `json:"cleared,omitempty"` // orders that this question has cleared
	Devices []Device `json:"devices"`           // results of the last stop
}

// ErrNotRunning reports that no running program answers for a folder.
var ErrNotRunning = errors.New("no running messkit answers")

// Query reads the stop state of the program that runs with a folder.
func Query(dir string) (State, error) { return ask(dir, query{Do: doShow}) }

// SendStop sends a stop to the program that runs with a folder, in case the folder does not accept
// the order.
func SendStop(dir string, o Order) (State, error) { return ask(dir, query{Do: doStop, Order: o}) }

// ResetUnsaved clears the orders that the running program holds in memory alone. Use Reset for orders
// on the disk.
func ResetUnsaved(dir, by string) (State, error) { return ask(dir, query{Do: doClear, By: by}) }

// query is one JSON object; the answer is a State.
type query struct {
	Do    string `json:"do"`
	Order Order  `json:"order,omitzero"` // of a stop
	By    string `json:"by,omitempty"`   // the person that resets the stop
}

// The kinds of question.
const (
	doShow  = "show"
	doStop  = "stop"
	doClear = "clear"
)

const (
	queryTimeout = 2 * time.Second // for a question and its answer
	maxQuery     = 64 << 10        // bytes of a question
	maxState     = 4 << 20         // bytes of an answer: a thousand devices with long errors
)

func ask(dir string, q query) (h State, err error) {
	conn, err := localrpc.Dial(socket, filepath.Dir(dir))
	if err != nil {
		return State{}, errors.Join(ErrNotRunning, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := localrpc.Ask(conn, q, &h, queryTimeout, maxState); err != nil {
		return State{}, fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	return h, nil
}

// answer answers local operators until ctx ends.
func (s *Latch) answer(ctx context.Context) error {
	l, err := localrpc.Listen(socket, filepath.Dir(s.cfg.Dir))
	if err != nil {
		s.log.Warn("other programs cannot query the stop, because its socket does not open", "err", err)
		return nil
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil // ctx has ended, or the socket has failed
		}
		if err := s.reply(conn); err != nil {
			s.log.Debug("cannot answer a query about the stop", "err", err)
		}
	}
}

// reply answers one question.
func (s *Latch) reply(conn net.Conn) (err error) {
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := localrpc.Allowed(conn); err != nil {
		return err
	}
	raw, err := localrpc.Asked(conn, queryTimeout, maxQuery)
	if err != nil {
		return err
	}
	q, err := parseQuery(raw)
	if err != nil {
		return err
	}
	return json.NewEncoder(conn).Encode(s.carryOut(q))
}

// parseQuery decodes and validates a question. With an error it returns the zero question.
func parseQuery(data []byte) (query, error) {
	var q query
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return query{}, err
	}
	if q.Do != doShow && q.Do != doStop && q.Do != doClear || q.Do == doStop && q.Order.ID == "" {
		return query{}, fmt.Errorf("%q is no valid query", q.Do)
	}
	return q, nil
}

func (s *Latch) carryOut(q query) State {
	var h State
	switch q.Do {
	case doStop:
		s.Stop(q.Order)
	case doClear:
		h.Cleared = s.resetUnsaved(q.By)
	}
	h.Devices = s.cfg.Devices()
	s.mu.Lock()
	defer s.mu.Unlock()
	h.Orders, h.Unsaved = append([]Order{}, s.orders...), append([]Order{}, s.unsaved...)
	return h
}

// resetUnsaved clears the orders that are in memory alone and returns them.
func (s *Latch) resetUnsaved(by string) []Order {
	s.mu.Lock()
	defer s.mu.Unlock()
	orders := s.unsaved
	if len(orders) > 0 {
		s.clear(record{Orders: orders, Clear: s.cleared, By: oneLine(by)})
	}
	return orders
}
