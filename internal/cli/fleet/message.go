package fleet

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
)

// incoming contains the parts of a message that the fleet reads.
type incoming struct {
	Re    mess.Refs `json:"re"`
	Items []struct {
		Request *struct {
			Requires []mess.Capability `json:"requires"`
		} `json:"request"`
		Status *struct {
			Code string `json:"code"`
		} `json:"status"`
		Ack *answer `json:"ack"`
	} `json:"MESS"`
}

// answer is an acknowledgement or a refusal of the exchange.
type answer struct {
	Ref       string `json:"ref"`
	Status    string `json:"status"`
	Epoch     uint64 `json:"epoch"`
	ErrorCode string `json:"why"` // "": no refusal
	Error     string `json:"error"`
}

// parse reads a message, and reports false if it is none.
func parse(data []byte) (s incoming, ok bool) {
	if json.Unmarshal(data, &s) != nil {
		return incoming{}, false
	}
	return s, true
}

// thread returns the ref of the message's thread, or "".
func (s incoming) thread() string {
	if len(s.Re) != 1 {
		return ""
	}
	ref, _, _ := strings.Cut(s.Re[0], "/")
	return ref
}

// offers reports whether the message offers a request that needs a capability. An exchange offers a
// request without any to every executor, and such a request is not for a simulated one.
func (s incoming) offers(capability string) bool {
	for _, i := range s.Items {
		if i.Request != nil {
			needs := slices.ContainsFunc(i.Request.Requires, func(c mess.Capability) bool { return c.ID == capability })
			return needs && s.thread() != ""
		}
	}
	return false
}

// ack returns the acknowledgement in the message, nil if there is none.
func (s incoming) ack() *answer {
	for _, i := range s.Items {
		if i.Ack != nil {
			return i.Ack
		}
	}
	return nil
}

// status returns the last status in the message, "" for none.
func (s incoming) status() (code string) {
	for _, i := range s.Items {
		if i.Status != nil {
			code = i.Status.Code
		}
	}
	return code
}

// profile registers an executor. holding are its claims; nil: it sends no heartbeats.
func profile(name, id, capability string, holding []claim) []byte {
	more := ""
	if holding != nil {
		more = `,"holding":` + list(holding)
	}
	return fmt.Appendf(nil, `{"id":%q,"MESS":[{"config":{"executor":{"id":%q,"name":"Simulated %s","capabilities":[%q],"versions":["1.1.0"]%s}}}]}`, name, id, id, capability, more)
}

func heartbeat(name, id string, holding []claim) []byte {
	return fmt.Appendf(nil, `{"id":%q,"MESS":[{"config":{"executor":{"id":%q,"holding":%s}}}]}`, name, id, list(holding))
}

// claim is a claim of an executor, as its heartbeats name it.
type claim struct {
	Ref   string `json:"ref"`
	Epoch uint64 `json:"epoch"`
}

func list(claims []claim) string {
	text, _ := json.Marshal(claims) // cannot fail: plain values
	return string(text)
}

func request(name, capability string) []byte {
	return fmt.Appendf(nil, `{"id":%q,"MESS":[{"request":{"intent":"simulated request %s","requires":[%q]}}]}`, name, name, capability)
}

// update returns a message with a status for a thread.
func update(name, ref, code string) []byte {
	more := ""
	if code == "completed" {
		more = `,{"response":{"content":["simulated"]}}`
	}
	return fmt.Appendf(nil, `{"id":%q,"re":%q,"MESS":[{"status":{"code":%q}}%s]}`, name, ref, code, more)
}
