package watchdog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// HeartbeatInterval is the longest interval between two messages of the agent.
const HeartbeatInterval = 250 * time.Millisecond

// Device describes a device to the watchdog.
type Device struct {
	Name string          `json:"name"`
	Kind string          `json:"kind"`           // of its driver, which carries out the orders
	Off  json.RawMessage `json:"off"`            // the order that switches it off
	Safe json.RawMessage `json:"safe,omitempty"` // the order for the end of the agent; none: leave it unchanged
}

// Message is a message of the agent, one line of JSON. The first message names the devices; one
// without content is a heartbeat.
type Message struct {
	Seq     uint64       `json:"seq"` // repeated in the answer
	Devices []Device     `json:"devices,omitempty"`
	On      []OnMessage  `json:"on,omitempty"`
	Off     []OffMessage `json:"off,omitempty"`
}

// OnMessage announces that the agent will switch a device on.
type OnMessage struct {
	Device string        `json:"device"`
	Epoch  uint64        `json:"epoch"`           // rises with every On of an agent; the watchdog rejects a lower one
	Left   time.Duration `json:"left,omitempty"`  // ns until it must be off; 0: it may stay on
	Maybe  bool          `json:"maybe,omitempty"` // it may have been on before: the earlier known end counts
}

// OffMessage reports that a device is off.
type OffMessage struct {
	Device string `json:"device"`
	Epoch  uint64 `json:"epoch"` // that of the last On
}

// Answer is the watchdog's answer, one line of JSON.
type Answer struct {
	Seq    uint64 `json:"seq"`
	Reason string `json:"no,omitempty"` // reason for a rejection; "" if accepted
}

// Limits of the input.
const (
	maxMessage = 256 << 10 // bytes per line: orders for some thousand devices
	maxName    = 128       // bytes
)

// parseMessage decodes and validates one line. With an error it returns the zero Message.
func parseMessage(line []byte) (Message, error) {
	w, err := parse[Message](line)
	if err != nil {
		return Message{}, err
	}
	if err := w.valid(); err != nil {
		return Message{}, err
	}
	return w, nil
}

// parseAnswer decodes and validates one line. With an error it returns the zero Answer.
func parseAnswer(line []byte) (Answer, error) {
	a, err := parse[Answer](line)
	if err == nil && a.Seq == 0 {
		return Answer{}, errors.New("seq: is missing")
	}
	return a, err
}

func parse[T any](line []byte) (T, error) {
	var v, none T
	if len(line) > maxMessage {
		return none, fmt.Errorf("a line has %d bytes; the limit is %d", len(line), maxMessage)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return none, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return none, errors.New("the line has more than one message")
	}
	return v, nil
}

func (w Message) valid() error {
	var errs []error
	check := func(ok bool, where, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s: %s", where, what))
		}
	}
	check(w.Seq > 0, "seq", "is missing")
	for _, d := range w.Devices {
		errs = append(errs, d.valid())
	}
	for _, o := range w.On {
		check(named(o.Device) && o.Epoch > 0 && o.Left >= 0, "on", "a device or an epoch is missing, or the time is negative")
	}
	for _, o := range w.Off {
		check(named(o.Device) && o.Epoch > 0, "off", "a device or an epoch is missing")
	}
	return errors.Join(errs...)
}

func (d Device) valid() error {
	if !named(d.Name) || d.Kind == "" || len(d.Off) == 0 {
		return errors.New("devices: a name, a kind or an order is missing, or a name is too long")
	}
	return nil
}

func named(device string) bool { return device != "" && len(device) <= maxName }

// print encodes a message or an answer as one line.
func print(v any) ([]byte, error) {
	line, err := json.Marshal(v)
	if err == nil && len(line) > maxMessage {
		err = fmt.Errorf("watchdog: a message has %d bytes; the limit is %d", len(line), maxMessage)
	}
	return append(line, '\n'), err
}

// lines calls f for each line until the end or an error. The end of r is no error.
func lines(r io.Reader, f func([]byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4<<10), maxMessage+1)
	for s.Scan() {
		if err := f(s.Bytes()); err != nil {
			return err
		}
	}
	return s.Err()
}

// write sends answers until the channel closes. After a failed write it only drains the
// channel.
func write(out io.Writer, answers <-chan Answer) {
	broken := false
	for a := range answers {
		line, err := print(a)
		if err == nil && !broken {
			_, err = out.Write(line)
		}
		broken = broken || err != nil
	}
}
