package journal

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/mess"
)

// record is one line of the journal, as JSON. docs/reference/journal.md describes it for other readers.
type record struct {
	Kind   string          `json:"kind"`
	At     time.Time       `json:"at,omitzero"` // time of the record by the node's clock
	Asked  *Question       `json:"asked,omitempty"`
	Intent *Intent         `json:"intent,omitempty"`
	Begun  int             `json:"begun,omitempty"` // intent, in a compacted journal: number of intents
	Found  int             `json:"found,omitempty"` // intent, in a compacted journal: number of runs that found it open
	Ref    string          `json:"ref,omitempty"`
	Epoch  uint64          `json:"epoch,omitempty"`
	Boot   string          `json:"boot,omitempty"` // run: the process; found: the run
	Report json.RawMessage `json:"report,omitempty"`
	Late   json.RawMessage `json:"late,omitempty"` // the data with which a later run continues the watch; none: the watch has ended
	Act    *Act            `json:"act,omitempty"`
	Device string          `json:"device,omitempty"` // due
	Due    *PendingOff     `json:"due,omitempty"`    // due; none: no switch-off is pending
	Serial uint64          `json:"serial,omitempty"` // due
	Book   *Ledger         `json:"book,omitempty"`
}

// Kinds of record.
const (
	kindBegun  = "begun"  // the journal exists
	kindAsked  = "asked"  // the executor waits for an answer
	kindIntent = "intent" // the executor is about to act
	kindFound  = "found"  // a later run has found the thread open and will finish it
	kindDone   = "done"   // the final report of the thread
	kindSent   = "sent"   // the exchange has the report
	kindLate   = "late"   // the watch for late acts of its devices begins or ends
	kindRun    = "run"    // a process begins to write the journal
	kindAct    = "act"    // a device is about to act
	kindDue    = "due"    // the pending switch-off of a device
	kindBook   = "book"   // all acts and all pending switch-offs
)

// thread returns the ref of the record's thread.
func (r record) thread() string {
	if r.Kind == kindIntent && r.Intent != nil {
		return r.Intent.Ref
	}
	if r.Kind == kindAsked && r.Asked != nil {
		return r.Asked.Ref
	}
	return r.Ref
}

// epoch returns the epoch of the record's claim.
func (r record) epoch() uint64 {
	if r.Kind == kindIntent && r.Intent != nil {
		return r.Intent.Epoch
	}
	if r.Kind == kindAsked && r.Asked != nil {
		return r.Asked.Epoch
	}
	return r.Epoch
}

// Rules for a record, in addition to those of the log.
const (
	RuleJSON   = "json"   // it is a JSON object with the fields of a record
	RuleKind   = "kind"   // it is of a known kind
	RuleThread = "thread" // it names its thread
	RuleReport = "report" // its report is a MESS message
	RuleFirst  = "first"  // the first record is the only begun
	RuleOrder  = "order"  // found and sent follow a record of their thread
	RuleEpoch  = "epoch"  // the epoch of a thread never falls
	RuleNote   = "note"   // a run names its process; an act and a pending switch-off name a device
)

// ruleError reports the violation of a rule.
type ruleError struct {
	rule string
	what string
}

func (e *ruleError) Error() string { return e.what }

// parse decodes and validates a record, and the message in it if it is a report.
func parse(data []byte) (record, *mess.Message, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, nil, &ruleError{RuleJSON, err.Error()}
	}
	switch r.Kind {
	case kindBegun:
		return r, nil, nil
	case kindRun, kindAct, kindDue, kindBook:
		if r.Kind == kindRun && r.Boot == "" || r.Kind == kindAct && (r.Act == nil || r.Act.Device == "") ||
			r.Kind == kindDue && r.Device == "" || r.Kind == kindBook && r.Book == nil {
			return record{}, nil, &ruleError{RuleNote, fmt.Sprintf("a record of kind %s lacks its content", r.Kind)}
		}
		return r, nil, nil
	case kindAsked, kindIntent, kindFound, kindDone, kindSent, kindLate:
	default:
		return record{}, nil, &ruleError{RuleKind, fmt.Sprintf("unknown kind of record %q; a newer program has written it", r.Kind)}
	}
	if r.thread() == "" {
		return record{}, nil, &ruleError{RuleThread, fmt.Sprintf("a record of kind %s without a thread", r.Kind)}
	}
	if r.Kind != kindDone {
		return r, nil, nil
	}
	m, err := r.message()
	if err != nil {
		return record{}, nil, err
	}
	return r, m, nil
}

func (r record) message() (*mess.Message, error) {
	var m mess.Message
	if err := json.Unmarshal(r.Report, &m); err != nil {
		return nil, &ruleError{RuleReport, fmt.Sprintf("report on %q: %v", r.Ref, err)}
	}
	return &m, nil
}

// apply adds a record to memory. A repeated record has no effect, except that intents and found
// records count. The caller holds mu.
func (j *Journal) apply(r record, report *mess.Message) {
	switch r.Kind {
	case kindRun:
		j.processes = append(j.processes, r.Boot)
		j.processes = j.processes[max(0, len(j.processes)-maxProcesses):]
	case kindAct, kindDue, kindBook:
		j.ledger.applyRecord(r)
		j.hasLedger = j.hasLedger || r.Kind == kindBook
	case kindAsked:
		s := j.state(r.Asked.Ref)
		s.Question, s.Epoch, s.asked = r.Asked, r.Asked.Epoch, &r
	case kindIntent:
		s := j.state(r.Intent.Ref)
		s.Intent, s.Epoch, s.Report, s.done, s.order = r.Intent, r.Intent.Epoch, nil, nil, 0
		s.Question, s.asked = nil, nil
		s.Begun += max(1, r.Begun)
		s.Found += r.Found
		s.intent = &r
	case kindFound:
		if s := j.tasks[r.Ref]; s != nil {
			s.Found++
		}
	case kindDone:
		s := j.state(r.Ref)
		j.next++
		s.Epoch, s.Report, s.done, s.order = r.Epoch, report, &r, j.next
		s.Question, s.asked = nil, nil
	case kindSent:
		delete(j.tasks, r.Ref)
	case kindLate:
		if len(r.Late) == 0 {
			delete(j.lateWatches, r.Ref)
			return
		}
		j.lateWatches[r.Ref] = r
	}
}

func (j *Journal) state(ref string) *state {
	s := j.tasks[ref]
	if s == nil {
		s = &state{Task: Task{Ref: ref}}
		j.tasks[ref] = s
	}
	return s
}

// records returns the smallest set of records that describes the current state.
func (j *Journal) records() ([][]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := []record{{Kind: kindBegun, At: j.stamp()}}
	for _, process := range j.processes {
		list = append(list, record{Kind: kindRun, Boot: process})
	}
	if j.hasLedger {
		j.ledger.forgetActs(j.now())
		list = append(list, record{Kind: kindBook, At: j.stamp(), Book: &j.ledger})
	}
	for _, s := range j.sorted() {
		if s.asked != nil {
			list = append(list, *s.asked)
		}
		if s.intent != nil {
			i := *s.intent
			i.Begun, i.Found = s.Begun, s.Found
			list = append(list, i)
		}
		if s.done != nil {
			list = append(list, *s.done)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(j.lateWatches)) {
		list = append(list, j.lateWatches[ref])
	}
	lines := make([][]byte, len(list))
	for i, r := range list {
		var err error
		if lines[i], err = json.Marshal(r); err != nil {
			return nil, err
		}
	}
	return lines, nil
}
