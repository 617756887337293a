// Package topic holds the names of the MQTT binding: the topics below
// mess/1/{exchange}, and who each of them belongs to. It is pure: it knows no
// broker.
package topic

import (
	"fmt"
	"strings"

	"github.com/messkit/messkit/internal/ascii"
)

// first is what every topic of the binding begins with: its name and version.
const first = "mess/1/"

// Root is what the topics of one exchange begin with, with a slash at its end.
type Root string

// Of returns the root of an exchange.
func Of(exchange string) Root { return Root(first + exchange + "/") }

// Anywhere is the status topic of whichever exchange: what somebody subscribes to
// who does not know its id.
const Anywhere = first + "+/x/status"

// Wild stands for any one id in a filter.
const Wild = "+"

// ValidID reports whether the id of an actor or an exchange can stand in a
// topic: no wildcard, no slash, no second spelling in capital letters.
func ValidID(id string) bool { return ascii.Name(id, 64, "._-") && strings.ToLower(id) == id }

// CheckID tells why an id cannot stand in a topic.
func CheckID(id string) error {
	if ValidID(id) {
		return nil
	}
	return fmt.Errorf("%.80q cannot stand in a topic of MQTT; use small letters, digits and . _ -, at most 64", id)
}

// ValidName reports whether the ref of a thread, or the name of an attachment,
// can stand in a topic.
func ValidName(s string) bool { return ascii.Name(s, 200, "._@-") && !strings.Contains(s, "..") }

// Leaf is the last part of an actor's topics.
type Leaf string

// The leaves below e/{executor}; an agent has In and Out alone, below a/{agent}.
const (
	Status Leaf = "status"
	Card   Leaf = "card"
	In     Leaf = "in"
	Now    Leaf = "now"
	Out    Leaf = "out"
)

// Exchange is the topic of the exchange's own status.
func (r Root) Exchange() string { return string(r) + "x/status" }

// Stop is the topic of the latch that stops everybody.
func (r Root) Stop() string { return string(r) + "stop" }

// Executor is a topic of an executor, or with Wild a filter.
func (r Root) Executor(id string, leaf Leaf) string {
	return string(r) + "e/" + id + "/" + string(leaf)
}

// Agent is a topic of a requester, or with Wild a filter.
func (r Root) Agent(id string, leaf Leaf) string { return string(r) + "a/" + id + "/" + string(leaf) }

// State is the topic of a thread's envelope, or with Wild a filter.
func (r Root) State(ref string) string { return string(r) + "t/" + ref + "/state" }

// Attachment is the topic of an attachment's bytes, or with Wild a filter.
func (r Root) Attachment(ref, name string) string { return string(r) + "t/" + ref + "/att/" + name }

// Home is a topic of what Home Assistant is shown of an executor, or with Wild a
// filter. What stands for the executor there need not be its id.
func (r Root) Home(executor, name string) string { return string(r) + "h/" + executor + "/" + name }

// Kind is what a topic is for.
type Kind string

// The kinds of topics, one for each row of the binding.
const (
	ExchangeStatus Kind = "x/status"
	ExecutorStatus Kind = "e/status"
	ExecutorCard   Kind = "e/card"
	ExecutorIn     Kind = "e/in"
	ExecutorNow    Kind = "e/now"
	ExecutorOut    Kind = "e/out"
	AgentOut       Kind = "a/out"
	AgentIn        Kind = "a/in"
	ThreadState    Kind = "t/state"
	ThreadFile     Kind = "t/att"
	StopLatch      Kind = "stop"
	HomeState      Kind = "h"
)

// Commands reports whether what is published there makes somebody act, so that
// nothing of it may be retained.
func (k Kind) Commands() bool {
	switch k {
	case ExecutorIn, ExecutorNow, ExecutorOut, AgentOut, AgentIn, ThreadFile:
		return true
	}
	return false
}

// Topic is a topic, or a filter, taken apart.
type Topic struct {
	Kind Kind
	ID   string // of the actor, or the thread's ref; "" where there is none, Wild in a filter
	Name string // of the attachment, or of what is shown
}

// Parse takes a topic below the root apart. It reports false for what is no
// topic of the binding.
func (r Root) Parse(topic string) (Topic, bool) { return r.parse(topic, false) }

// ParseFilter does so for a filter, in which Wild may stand for an id or a name.
// Filters that mean more than one row of the binding are none of them.
func (r Root) ParseFilter(filter string) (Topic, bool) { return r.parse(filter, true) }

func (r Root) parse(topic string, filter bool) (Topic, bool) {
	rest, ok := strings.CutPrefix(topic, string(r))
	if !ok {
		return Topic{}, false
	}
	if rest == "stop" {
		return Topic{Kind: StopLatch}, true
	}
	if rest == "x/status" {
		return Topic{Kind: ExchangeStatus}, true
	}
	part := strings.Split(rest, "/")
	if len(part) < 3 {
		return Topic{}, false
	}
	t := Topic{ID: part[1]}
	any := func(s string) bool { return filter && s == Wild }
	switch {
	case part[0] == "t" && len(part) == 3 && part[2] == "state":
		t.Kind = ThreadState
	case part[0] == "t" && len(part) == 4 && part[2] == "att":
		t.Kind, t.Name = ThreadFile, part[3]
	case part[0] == "h" && len(part) == 3:
		t.Kind, t.Name = HomeState, part[2]
	case (part[0] == "e" || part[0] == "a") && len(part) == 3:
		t.Kind = kinds[part[0]+"/"+part[2]]
	}
	switch {
	case t.Kind == "":
		return Topic{}, false
	case part[0] == "t" || part[0] == "h":
		return t, (ValidName(t.ID) || any(t.ID)) && (t.Name == "" && t.Kind == ThreadState || ValidName(t.Name) || any(t.Name))
	}
	return t, ValidID(t.ID) || any(t.ID)
}

var kinds = map[string]Kind{
	"e/status": ExecutorStatus, "e/card": ExecutorCard, "e/in": ExecutorIn, "e/now": ExecutorNow, "e/out": ExecutorOut,
	"a/out": AgentOut, "a/in": AgentIn,
}

// Exchange returns which exchange a topic of the binding belongs to; "" if it
// belongs to none.
func Exchange(topic string) string {
	rest, ok := strings.CutPrefix(topic, first)
	id, _, below := strings.Cut(rest, "/")
	if !ok || !below || !ValidID(id) {
		return ""
	}
	return id
}
