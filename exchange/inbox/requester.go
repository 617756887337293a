package inbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/thread"
)

// requester is an actor that has made requests over the channel. Inbox.mu guards it.
type requester struct {
	at    time.Time  // time of its last message, or of the last message to it
	from  thread.Pos // it has everything up to here
	since time.Time  // during an upgrade: it has all older messages
	sent  []sent     // last messages of its threads
	due   []due      // threads with news, in order
	isDue map[string]bool

	stale bool       // its document is out of date
	low   thread.Pos // the stored form of from; "" means Inbox.pos
}

// sent identifies the last message of a thread that the inbox has sent to a requester.
type sent struct {
	Ref    string `json:"ref"`
	Serial int    `json:"serial"` // of the message in its thread
	Ended  bool   `json:"ended,omitzero"`
}

// due is a thread with news for a requester.
type due struct {
	ref    string
	before thread.Pos // the requester has everything up to this change, or gets it from an earlier due
	// If requester.sent has no entry for the thread, messages up to this serial and before this
	// time do not count.
	last  int
	since time.Time
}

// Limits for the entries in requester.sent: ended threads, which rarely get news, and all threads.
// Beyond them, a requester may get messages again after a restart.
const (
	maxEnded = 32
	maxSent  = 4096
)

// queue records news of a thread.
func (r *requester) queue(d due) {
	if r.isDue[d.ref] {
		return
	}
	if r.isDue == nil {
		r.isDue = map[string]bool{}
	}
	r.isDue[d.ref] = true
	r.due = append(r.due, d)
}

// begin returns the first thread with news. Later changes of it are news again.
func (r *requester) begin() due {
	delete(r.isDue, r.due[0].ref)
	return r.due[0]
}

// done removes the thread that begin has returned.
func (r *requester) done() {
	if r.due = r.due[1:]; len(r.due) == 0 {
		r.due, r.isDue = nil, nil
	}
}

// remember records the last message that the requester has got of a thread.
func (r *requester) remember(t sent) {
	if t.Serial == 0 {
		return
	}
	r.stale = true
	if i := r.index(t.Ref); i >= 0 {
		r.sent = slices.Delete(r.sent, i, i+1)
	}
	r.sent = append(r.sent, t)
	first, ended := -1, 0
	for i, one := range slices.Backward(r.sent) {
		if one.Ended {
			first, ended = i, ended+1
		}
	}
	if ended > maxEnded || len(r.sent) > maxSent {
		r.sent = slices.Delete(r.sent, max(0, first), max(0, first)+1)
	}
}

// lastSerial returns the serial of the last message that the requester has got of a thread, or 0.
func (r *requester) lastSerial(ref string) int {
	if i := r.index(ref); i >= 0 {
		return r.sent[i].Serial
	}
	return 0
}

// ends records the end of a thread.
func (r *requester) ends(ref string) {
	if i := r.index(ref); i >= 0 {
		r.sent[i].Ended = true
	}
}

// index returns the index of a thread in r.sent, or -1. The thread is mostly near the end.
func (r *requester) index(ref string) int {
	for i, t := range slices.Backward(r.sent) {
		if t.Ref == ref {
			return i
		}
	}
	return -1
}

// document is the stored form of a requester.
type document struct {
	At   time.Time  `json:"at"`
	Sent []sent     `json:"told,omitempty"`
	Pos  thread.Pos `json:"pos,omitempty"`
}

func (r *requester) document() []byte {
	doc, _ := json.Marshal(document{r.at, r.sent, r.low}) // cannot fail: plain values
	return doc
}

// parse reads the stored form of a requester. Early versions stored only a time.
func parse(doc []byte) (*requester, error) {
	var d document
	if err := json.Unmarshal(doc, &d.At); err != nil {
		if err := json.Unmarshal(doc, &d); err != nil {
			return nil, err
		}
	}
	if err := checkPosition(d.Pos); err != nil {
		return nil, err
	}
	return &requester{at: d.At, sent: d.Sent[max(0, len(d.Sent)-maxSent):], low: d.Pos}, nil
}

// checkPosition returns an error for a text that is no position.
func checkPosition(p thread.Pos) error {
	if strings.Trim(string(p), "0123456789") != "" {
		return fmt.Errorf("%.40q is no position", p)
	}
	return nil
}
