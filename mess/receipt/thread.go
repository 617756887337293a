package receipt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Finding is one result of the verification of a thread.
type Finding struct {
	Wrong   bool
	Message string // ref of its message; "" for the thread
	Text    string
}

// self is the actor id of the exchange in its threads. It signs nothing.
const self = "exchange"

// Thread verifies the receipts of a thread. key returns the public key of an executor and
// its source; "" if unknown. open opens an attachment by its name.
func Thread(t messeaf.Thread, key func(executor string) (public, by string), open func(name string) ([]byte, error)) []Finding {
	v := verifier{thread: t, key: key, open: open}
	for i, m := range t.Messages {
		v.message(i, m)
	}
	v.envelope()
	return v.found
}

type verifier struct {
	thread messeaf.Thread
	key    func(string) (string, string)
	open   func(string) ([]byte, error)
	found  []Finding
	held   []Receipt // valid receipts
}

func (v *verifier) wrong(ref, format string, args ...any) {
	v.found = append(v.found, Finding{true, ref, fmt.Sprintf(format, args...)})
}

func (v *verifier) right(ref, format string, args ...any) {
	v.found = append(v.found, Finding{false, ref, fmt.Sprintf(format, args...)})
}

// message verifies one message if it ends the thread or contains a result.
func (v *verifier) message(i int, m mess.Message) {
	r, s, err := In(m)
	_, _, response := report(m)
	switch {
	case s == nil && response == nil:
	case s == nil:
		v.wrong(m.Ref, "a response by %s without a receipt", m.From)
	case errors.Is(err, ErrNone) && response == nil && bare(m.From, s.Code):
		v.right(m.Ref, "%s, reported by %s without a receipt", s.Code, m.From)
	case err != nil:
		v.wrong(m.Ref, "%s by %s: %v", s.Code, m.From, err)
	default:
		v.receipt(i, m, r)
	}
}

// bare reports whether the sender may report this without a receipt: the exchange its own
// decisions, and any executor that it declines.
func bare(actor string, c mess.Code) bool {
	switch c {
	case mess.Declined, mess.Delegated:
		return true
	case mess.Expired, mess.Failed, mess.Cancelled, mess.Superseded:
		return actor == self
	}
	return false
}

// receipt verifies a message with a receipt.
func (v *verifier) receipt(i int, m mess.Message, r Receipt) {
	wrong := Check(m, r, v.open)
	if r.Thread != v.thread.Envelope.Ref {
		wrong = append(wrong, fmt.Errorf("thread: the receipt is for %.60q", r.Thread))
	}
	public, by := v.key(r.Executor)
	switch {
	case public == "":
		wrong = append(wrong, fmt.Errorf("key: no source confirms %s", r.Key))
	case public != r.Key:
		wrong = append(wrong, fmt.Errorf("key: is %s, but %s reports %s", r.Key, by, public))
	}
	if err := v.plan(i, r); err != nil {
		wrong = append(wrong, err)
	}
	for _, err := range wrong {
		v.wrong(m.Ref, "%s", err)
	}
	if len(wrong) == 0 {
		v.held = append(v.held, r)
		v.right(m.Ref, "%s", r.summary(by))
	}
}

// plan compares the plan of a receipt with the confirmed and the started plan before
// message i.
func (v *verifier) plan(i int, r Receipt) error {
	begun, asked, yes := v.before(i, r)
	acted := r.Started != "" || r.Status == mess.Completed || r.Status == mess.Partial
	switch {
	case r.Plan == "" && (r.Status == mess.Completed || r.Status == mess.Partial):
		return errors.New("plan: is missing, although the executor acted")
	case begun != "" && r.Plan != "" && begun != r.Plan:
		return fmt.Errorf("plan: the executor started %s, but the receipt is for %s", begun, r.Plan)
	case asked != "" && acted && !yes:
		return fmt.Errorf("plan: %s required a confirmation, and has none", asked)
	case asked != "" && acted && asked != r.Plan:
		return fmt.Errorf("plan: the confirmation is for %s, the receipt for %s", asked, r.Plan)
	}
	return nil
}

// before returns the reports of the executor under its claim before message i: the started
// plan, the last plan that it asked to confirm, and whether it got the confirmation.
func (v *verifier) before(i int, r Receipt) (begun, asked string, yes bool) {
	for _, m := range v.thread.Messages[:i] {
		for _, item := range m.Items {
			switch s := item.(type) {
			case *mess.Status:
				own := m.From == r.Executor && (m.Epoch == 0 || m.Epoch == r.Epoch) && s.ActionHash != ""
				if own && s.Code == mess.InProgress {
					begun = s.ActionHash
				}
				if own && s.Code == mess.NeedsConfirmation {
					asked, yes = s.ActionHash, false
				}
			case *mess.Reply:
				yes = yes || s.Confirm != nil && *s.Confirm
			case *mess.Answer:
				b, _ := s.Value.(bool)
				yes = yes || b
			}
		}
	}
	return begun, asked, yes
}

// summary describes a valid receipt in one line.
func (r Receipt) summary(by string) string {
	s := fmt.Sprintf("%s by %s", r.Status, r.Executor)
	if r.Evidence != "" {
		s += ", evidence " + string(r.Evidence)
	}
	if r.Effect != "" {
		s += ", effect " + string(r.Effect)
	}
	s += fmt.Sprintf(", at %s", r.Ended)
	if r.Clock != "" {
		s += " (clock " + r.Clock + ")"
	}
	files := 0
	for _, c := range r.Content {
		if c.SHA256 != "" {
			files++
		}
	}
	return s + fmt.Sprintf("; %d pieces of content, %d files; signed with %s, known from %s", len(r.Content), files, r.Key, by)
}

// envelope compares the envelope with the signed reports: only a signed report proves that
// an executor acted.
func (v *verifier) envelope() {
	e := v.thread.Envelope
	signed := slices.ContainsFunc(v.held, func(r Receipt) bool { return r.Status == e.Status && (e.Executor == "" || r.Executor == e.Executor) })
	switch {
	case !e.Status.Terminal():
		v.right("", "has not ended (%s)", e.Status)
	case e.Status == mess.Completed || e.Status == mess.Partial:
		if !signed {
			v.wrong("", "has the status %s without a valid receipt of %s for it", e.Status, e.Executor)
		}
	case !signed && !v.says(e.Status):
		v.wrong("", "has the status %s without a message for it", e.Status)
	}
}

// says reports whether a message ends the thread with this status.
func (v *verifier) says(c mess.Code) bool {
	return slices.ContainsFunc(v.thread.Messages, func(m mess.Message) bool {
		return slices.ContainsFunc(m.Items, func(item mess.Item) bool {
			s, ok := item.(*mess.Status)
			return ok && s.Code == c || item.Kind() == mess.KindCancel && c == mess.Cancelled
		})
	})
}
