package receipt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Finding is one thing that came out when a thread was verified.
type Finding struct {
	Wrong   bool
	Message string // ref of the message that it is about; "" for the thread as a whole
	Text    string
}

// self is who the exchange is in its threads. It signs nothing.
const self = "exchange"

// Thread verifies the receipts of a thread. key returns the public key that an
// executor is held to, and who vouches for it; "" if nobody does. open reads an
// attachment by its name.
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
	held   []Receipt // that agree with everything
}

func (v *verifier) wrong(ref, format string, args ...any) {
	v.found = append(v.found, Finding{true, ref, fmt.Sprintf(format, args...)})
}

func (v *verifier) right(ref, format string, args ...any) {
	v.found = append(v.found, Finding{false, ref, fmt.Sprintf(format, args...)})
}

// message verifies one message, if it ends the thread or gives a result.
func (v *verifier) message(i int, m mess.Message) {
	r, s, err := In(m)
	_, _, response := report(m)
	switch {
	case s == nil && response == nil:
	case s == nil:
		v.wrong(m.Ref, "a response by %s, and no receipt", m.From)
	case errors.Is(err, ErrNone) && response == nil && bare(m.From, s.Code):
		v.right(m.Ref, "%s, said by %s without a receipt", s.Code, m.From)
	case err != nil:
		v.wrong(m.Ref, "%s by %s: %v", s.Code, m.From, err)
	default:
		v.receipt(i, m, r)
	}
}

// bare reports whether somebody may say that without a receipt: the exchange
// what it decides itself, and anybody that he will not do it.
func bare(who string, c mess.Code) bool {
	switch c {
	case mess.Declined, mess.Delegated:
		return true
	case mess.Expired, mess.Failed, mess.Cancelled, mess.Superseded:
		return who == self
	}
	return false
}

// receipt verifies a message that bears one.
func (v *verifier) receipt(i int, m mess.Message, r Receipt) {
	wrong := Check(m, r, v.open)
	if r.Thread != v.thread.Envelope.Ref {
		wrong = append(wrong, fmt.Errorf("thread: the receipt is for %.60q", r.Thread))
	}
	public, by := v.key(r.Executor)
	switch {
	case public == "":
		wrong = append(wrong, fmt.Errorf("key: nobody vouches for %s", r.Key))
	case public != r.Key:
		wrong = append(wrong, fmt.Errorf("key: is %s, and %s says %s", r.Key, by, public))
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

// plan compares the plan of a receipt with what the thread says was confirmed
// and begun before message i.
func (v *verifier) plan(i int, r Receipt) error {
	begun, asked, yes := v.before(i, r)
	acted := r.Started != "" || r.Status == mess.Completed || r.Status == mess.Partial
	switch {
	case r.Plan == "" && (r.Status == mess.Completed || r.Status == mess.Partial):
		return errors.New("plan: there is none, and something was done")
	case begun != "" && r.Plan != "" && begun != r.Plan:
		return fmt.Errorf("plan: %s was begun, and the receipt is for %s", begun, r.Plan)
	case asked != "" && acted && !yes:
		return fmt.Errorf("plan: %s was to be confirmed, and nobody said yes", asked)
	case asked != "" && acted && asked != r.Plan:
		return fmt.Errorf("plan: %s was confirmed, and the receipt is for %s", asked, r.Plan)
	}
	return nil
}

// before finds what the executor of a receipt has said under its claim before
// message i: the plan that it has begun, the last that it asked a yes for, and
// whether it got that.
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

// summary is a receipt that agrees with everything, in one line.
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

// envelope holds what the envelope says to what was signed: something was done
// only if the executor has signed that.
func (v *verifier) envelope() {
	e := v.thread.Envelope
	signed := slices.ContainsFunc(v.held, func(r Receipt) bool { return r.Status == e.Status && (e.Executor == "" || r.Executor == e.Executor) })
	switch {
	case !e.Status.Terminal():
		v.right("", "has not ended (%s)", e.Status)
	case e.Status == mess.Completed || e.Status == mess.Partial:
		if !signed {
			v.wrong("", "is said to be %s, and no receipt of %s that holds says so", e.Status, e.Executor)
		}
	case !signed && !v.says(e.Status):
		v.wrong("", "is said to be %s, and nothing in it says so", e.Status)
	}
}

// says reports whether anybody has said that the thread ends so.
func (v *verifier) says(c mess.Code) bool {
	return slices.ContainsFunc(v.thread.Messages, func(m mess.Message) bool {
		return slices.ContainsFunc(m.Items, func(item mess.Item) bool {
			s, ok := item.(*mess.Status)
			return ok && s.Code == c || item.Kind() == mess.KindCancel && c == mess.Cancelled
		})
	})
}
