package fleet

import "time"

// Ledger is a ledger for tests of another package.
type Ledger = ledger

// NewLedger makes one.
func NewLedger() *Ledger { return newLedger() }

// Asked, Granted and Heard record messages that executors and requesters receive.
func (l *ledger) Asked(ref string, due time.Time)        { l.asked(ref, due) }
func (l *ledger) Granted(ref, executor, step string)     { l.granted(ref, executor, step) }
func (l *ledger) Heard(ref, status string, at time.Time) { l.recordStatus(ref, status, at) }
func (l *ledger) Judge(stored map[string]string) (r Report) {
	l.judge(stored, &r)
	return r
}

// Parse, ParseEvent and ReadEvent read what an exchange sends.
var (
	Parse      = parse
	ParseEvent = eventOf
	ReadEvent  = readEvent
)

// Name, ID and Data return the fields of an event.
func (e event) Name() string { return e.name }
func (e event) ID() string   { return e.id }
func (e event) Data() []byte { return e.data }
