package watchdog

import (
	"fmt"
	"sync"
	"time"
)

// connection is the connection to a running watchdog.
type connection struct {
	Process
	outgoing chan []byte   // on their way to the watchdog
	closed   chan struct{} // closed when its answers end
	stopped  chan struct{} // closed when the client stops sending

	mu      sync.Mutex
	seq     uint64
	waiting map[uint64]chan Answer
}

// receive passes the answers to the waiting calls until the answers end.
func (l *connection) receive() error {
	defer close(l.closed)
	return lines(l, func(line []byte) error {
		a, err := parseAnswer(line)
		if err != nil {
			return fmt.Errorf("watchdog: %w", err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if c := l.waiting[a.Seq]; c != nil {
			c <- a // its buffer has room for one
			delete(l.waiting, a.Seq)
		}
		return nil
	})
}

// send writes the messages. A frozen watchdog does not read, so a write may block; it blocks
// only this goroutine.
func (l *connection) send() error {
	for {
		select {
		case line := <-l.outgoing:
			if _, err := l.Write(line); err != nil {
				return err
			}
		case <-l.stopped:
			return nil
		}
	}
}

// request sends a message and waits for the answer.
func (l *connection) request(w Message) error {
	line, answer, err := l.encode(w)
	if err != nil {
		return err
	}
	t := time.NewTimer(answerTime)
	defer t.Stop()
	late := fmt.Errorf("no answer within %v: %w", answerTime, ErrNotRunning)
	select {
	case l.outgoing <- line:
	case <-l.stopped:
		return ErrNotRunning
	case <-l.closed:
		return ErrNotRunning
	case <-t.C:
		return late
	}
	select {
	case a := <-answer:
		if a.Reason != "" {
			return &RejectionError{a.Reason}
		}
		return nil
	case <-l.closed:
		return ErrNotRunning
	case <-t.C:
		return late
	}
}

// encode encodes a message and returns it with the channel for its answer.
func (l *connection) encode(w Message) (line []byte, answer chan Answer, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	w.Seq = l.seq
	if line, err = print(w); err != nil {
		return nil, nil, err
	}
	answer = make(chan Answer, 1)
	l.waiting[w.Seq] = answer
	return line, answer, nil
}

// RejectionError is a rejection by the watchdog.
type RejectionError struct{ Reason string }

func (n *RejectionError) Error() string { return n.Reason }
