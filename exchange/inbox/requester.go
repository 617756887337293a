package inbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/thread"
)

// requester is one that has made requests through the channel. Inbox.mu guards it.
type requester struct {
	at    time.Time  // last sign of life, or last message that it got
	from  thread.Pos // it has everything up to here
	since time.Time  // while an Inbox upgrades: it has everything that is older
	told  []told     // the last of its threads
	due   []due      // threads in which there is something for it, in order
	isDue map[string]bool

	stale bool       // it is to be stored
	low   thread.Pos // up to here it has everything, as it is stored; "": up to Inbox.pos
}

// told is the last message of a thread that a requester has got.
type told struct {
	Ref    string `json:"ref"`
	Serial int    `json:"serial"` // the messages of a thread are numbered
	Ended  bool   `json:"ended,omitzero"`
}

// due is a thread in which there is something for a requester.
type due struct {
	ref    string
	before thread.Pos // of all changes up to it, the requester has what is for it, or that is due before
	// In a thread of which told knows nothing, messages up to this number and from before
	// this time do not count.
	last  int
	since time.Time
}

// A requester remembers the last message of so many threads that have ended, from which little
// comes any more, and of so many threads in all. The messages of a thread beyond that may come
// again after a restart.
const (
	maxEnded = 32
	maxTold  = 4096
)

// queue notes that there is something in a thread.
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

// begin returns the thread that is next. What changes in it from now on is due again.
func (r *requester) begin() due {
	delete(r.isDue, r.due[0].ref)
	return r.due[0]
}

// done takes out the thread that begin has returned.
func (r *requester) done() {
	if r.due = r.due[1:]; len(r.due) == 0 {
		r.due, r.isDue = nil, nil
	}
}

// remember notes the last message of a thread that the requester has got.
func (r *requester) remember(t told) {
	if t.Serial == 0 {
		return
	}
	r.stale = true
	if i := r.index(t.Ref); i >= 0 {
		r.told = slices.Delete(r.told, i, i+1)
	}
	r.told = append(r.told, t)
	first, ended := -1, 0
	for i, one := range slices.Backward(r.told) {
		if one.Ended {
			first, ended = i, ended+1
		}
	}
	if ended > maxEnded || len(r.told) > maxTold {
		r.told = slices.Delete(r.told, max(0, first), max(0, first)+1)
	}
}

// toldOf is the number of the last message of a thread that the requester has got, or 0.
func (r *requester) toldOf(ref string) int {
	if i := r.index(ref); i >= 0 {
		return r.told[i].Serial
	}
	return 0
}

// ends notes that a thread has ended.
func (r *requester) ends(ref string) {
	if i := r.index(ref); i >= 0 {
		r.told[i].Ended = true
	}
}

// index is the place of a thread in told: mostly near the end.
func (r *requester) index(ref string) int {
	for i, t := range slices.Backward(r.told) {
		if t.Ref == ref {
			return i
		}
	}
	return -1
}

// document is a requester as it is stored.
type document struct {
	At   time.Time  `json:"at"`
	Told []told     `json:"told,omitempty"`
	Pos  thread.Pos `json:"pos,omitempty"`
}

func (r *requester) document() []byte {
	doc, _ := json.Marshal(document{r.at, r.told, r.low}) // cannot fail: plain values
	return doc
}

// parse reads a requester as it is stored; early versions stored a time alone.
func parse(doc []byte) (*requester, error) {
	var d document
	if err := json.Unmarshal(doc, &d.At); err != nil {
		if err := json.Unmarshal(doc, &d); err != nil {
			return nil, err
		}
	}
	if err := isPosition(d.Pos); err != nil {
		return nil, err
	}
	return &requester{at: d.At, told: d.Told[max(0, len(d.Told)-maxTold):], low: d.Pos}, nil
}

// isPosition returns an error for what no store gives as a position.
func isPosition(p thread.Pos) error {
	if strings.Trim(string(p), "0123456789") != "" {
		return fmt.Errorf("%.40q is no position", p)
	}
	return nil
}
