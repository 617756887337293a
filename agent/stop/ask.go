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

	"github.com/messkit/messkit/internal/atplace"
)

// socket is what a stop is asked by, with the data folder.
const socket = "stop"

// Held is what a program that runs says of its stop, whether or not the disk
// has taken it.
type Held struct {
	Orders  []Order  `json:"orders"`            // that hold
	Unsaved []Order  `json:"unsaved,omitempty"` // those of them that are in memory alone
	Cleared []Order  `json:"cleared,omitempty"` // that held until this was asked
	Devices []Device `json:"devices"`           // what they have done in the last stop
}

// ErrNobody says that no program runs that answers for a folder.
var ErrNobody = errors.New("nobody answers for it")

// Ask asks the program that runs with a folder what holds.
func Ask(dir string) (Held, error) { return ask(dir, question{Do: doShow}) }

// Tell has the program that runs with a folder stop, where the folder does not
// take the order.
func Tell(dir string, o Order) (Held, error) { return ask(dir, question{Do: doStop, Order: o}) }

// Forget ends what the program that runs with a folder holds in memory alone.
// What is on the disk is for Clear.
func Forget(dir, by string) (Held, error) { return ask(dir, question{Do: doClear, By: by}) }

// question is what is asked, as one JSON object; Held is the answer.
type question struct {
	Do    string `json:"do"`
	Order Order  `json:"order,omitzero"` // of a stop
	By    string `json:"by,omitempty"`   // who clears
}

// What may be asked.
const (
	doShow  = "show"
	doStop  = "stop"
	doClear = "clear"
)

const (
	askTime = 2 * time.Second // for a question and its answer
	maxAsk  = 64 << 10        // bytes of a question
	maxHeld = 4 << 20         // bytes of an answer: a thousand devices with long errors
)

func ask(dir string, q question) (h Held, err error) {
	conn, err := atplace.Dial(socket, filepath.Dir(dir))
	if err != nil {
		return Held{}, errors.Join(ErrNobody, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := atplace.Ask(conn, q, &h, askTime, maxHeld); err != nil {
		return Held{}, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	return h, nil
}

// answer answers who is at the place, until ctx ends.
func (s *Stopper) answer(ctx context.Context) error {
	l, err := atplace.Listen(socket, filepath.Dir(s.cfg.Dir))
	if err != nil {
		s.log.Warn("what is stopped cannot be asked for while the folder of the stop cannot be written", "err", err)
		return nil
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil // ctx has ended, or nobody can ask any more
		}
		if err := s.reply(conn); err != nil {
			s.log.Debug("a question about the stop was not answered", "err", err)
		}
	}
}

// reply answers one question.
func (s *Stopper) reply(conn net.Conn) (err error) {
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := atplace.Allowed(conn); err != nil {
		return err
	}
	raw, err := atplace.Asked(conn, askTime, maxAsk)
	if err != nil {
		return err
	}
	q, err := parseQuestion(raw)
	if err != nil {
		return err
	}
	return json.NewEncoder(conn).Encode(s.does(q))
}

// parseQuestion reads a question. An error goes with the zero question.
func parseQuestion(data []byte) (question, error) {
	var q question
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return question{}, err
	}
	if q.Do != doShow && q.Do != doStop && q.Do != doClear || q.Do == doStop && q.Order.ID == "" {
		return question{}, fmt.Errorf("%q cannot be asked so", q.Do)
	}
	return q, nil
}

func (s *Stopper) does(q question) Held {
	var h Held
	switch q.Do {
	case doStop:
		s.Stop(q.Order)
	case doClear:
		h.Cleared = s.forget(q.By)
	}
	h.Devices = s.cfg.Devices()
	s.mu.Lock()
	defer s.mu.Unlock()
	h.Orders, h.Unsaved = append([]Order{}, s.orders...), append([]Order{}, s.unsaved...)
	return h
}

// forget ends what is in memory alone.
func (s *Stopper) forget(by string) []Order {
	s.mu.Lock()
	defer s.mu.Unlock()
	orders := s.unsaved
	if len(orders) > 0 {
		s.clear(record{Orders: orders, Clear: s.cleared, By: line(by)})
	}
	return orders
}
