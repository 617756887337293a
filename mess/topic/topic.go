// Package topic implements the topic names of the MQTT binding: the topics below
// mess/1/{exchange}, and their owners. It is pure: it knows no broker.
package topic

import (
	"fmt"
	"strings"

	"github.com/messkit/messkit/internal/ascii"
)

// first begins every topic of the binding: its name and version.
const first = "mess/1/"

// Root begins the topics of one exchange, with a slash at its end.
type Root string

// Of returns the root of an exchange.
func Of(exchange string) Root { return Root(first + exchange + "/") }

// Anywhere is the status topic of any exchange, for a client that does not know its id.
const Anywhere = first + "+/x/status"

// Wild matches any id in a filter.
const Wild = "+"

// ValidID reports whether a topic can contain the id of an actor or an exchange: no
// wildcard, no slash, no upper case.
func ValidID(id string) bool { return ascii.Name(id, 64, "._-") && strings.ToLower(id) == id }

// CheckID returns an error for an id that a topic cannot contain.
func CheckID(id string) error {
	if ValidID(id) {
		return nil
	}
	return fmt.Errorf("%.80q is invalid in an MQTT topic; use lower-case letters, digits and . _ -, at most 64", id)
}

// ValidName reports whether a topic can contain the ref of a thread, or the name of an
// attachment.
func ValidName(s string) bool { return ascii.Name(s, 200, "._@-") && !strings.Contains(s, "..") }

// Leaf is the last part of an actor's topics.
type Leaf string

// Leaves below e/{executor}; an agent has only In and Out, below a/{agent}.
const (
	Status Leaf = "status"
	Card   Leaf = "card"
	In     Leaf = "in"
	Now    Leaf = "now"
	Out    Leaf = "out"
)

// Exchange returns the topic of the exchange's own status.
func (r Root) Exchange() string { return string(r) + "x/status" }

// Stop returns the topic of the stop latch for all executors.
func (r Root) Stop() string { return string(r) + "stop" }

// Executor returns a topic of an executor, or a filter with Wild.
func (r Root) Executor(id string, leaf Leaf) string {
	return string(r) + "e/" + id + "/" + string(leaf)
}

// Agent returns a topic of a requester, or a filter with Wild.
func (r Root) Agent(id string, leaf Leaf) string { return string(r) + "a/" + id + "/" + string(leaf) }

// State returns the topic of a thread's envelope, or a filter with Wild.
func (r Root) State(ref string) string { return string(r) + "t/" + ref + "/state" }

// Attachment returns the topic of an attachment's bytes, or a filter with Wild.
func (r Root) Attachment(ref, name string) string { return string(r) + "t/" + ref + "/att/" + name }

// Home returns a topic for Home Assistant about an executor, or a filter with Wild. The
// name of the executor there may differ from its id.
func (r Root) Home(executor, name string) string { return string(r) + "h/" + executor + "/" + name }

// Kind is the purpose of a topic.
type Kind string

// Kinds of topics, one for each row of the binding.
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

// Commands reports whether messages on the topic cause an action, so that they must not be
// retained.
func (k Kind) Commands() bool {
	switch k {
	case ExecutorIn, ExecutorNow, ExecutorOut, AgentOut, AgentIn, ThreadFile:
		return true
	}
	return false
}

// Topic is a parsed topic or filter.
type Topic struct {
	Kind Kind
	ID   string // id of the actor, or ref of the thread; "" if there is none, Wild in a filter
	Name string // name of the attachment, or of the entity
}

// Parse parses a topic below the root. It returns false for a topic outside of the binding.
func (r Root) Parse(topic string) (Topic, bool) { return r.parse(topic, false) }

// ParseFilter parses a filter, in which Wild may stand for an id or a name. It returns
// false for a filter that matches several rows of the binding.
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

// Exchange returns the exchange of a topic of the binding, or "".
func Exchange(topic string) string {
	rest, ok := strings.CutPrefix(topic, first)
	id, _, below := strings.Cut(rest, "/")
	if !ok || !below || !ValidID(id) {
		return ""
	}
	return id
}
