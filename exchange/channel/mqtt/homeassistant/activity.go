package homeassistant

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// openTask is an open thread of an executor, with its open question.
type openTask struct {
	envelope             exchange.Envelope
	action, consequences string   // of the plan to confirm
	asked                string   // the text of the open question
	question             string   // the ref of the message that asks it
	options              []string // of the question
}

// activity is the open threads of an executor, and the last one that has ended.
type activity struct {
	open []*openTask // oldest first
	last mess.Object
}

// urgency orders statuses by how soon a person should see them.
var urgency = []mess.Code{
	mess.NeedsConfirmation, mess.NeedsInput, mess.InProgress, mess.Held, mess.Retrying, mess.Waiting, mess.Claimed, mess.Pending,
}

// mostUrgent returns the thread to show, or nil.
func (d activity) mostUrgent() *openTask {
	for _, code := range urgency {
		if i := slices.IndexFunc(d.open, func(w *openTask) bool { return w.envelope.Status == code }); i >= 0 {
			return d.open[i]
		}
	}
	return nil
}

// openConfirmation returns the oldest plan that Home Assistant itself has to confirm, or nil.
// The sensor only shows plans that another actor confirms.
func (d activity) openConfirmation() *openTask {
	i := slices.IndexFunc(d.open, func(w *openTask) bool {
		c := w.envelope.Confirm
		return w.envelope.Status == mess.NeedsConfirmation && w.envelope.Requester == Actor && c != nil && c.Given == nil && c.By == ""
	})
	if i < 0 {
		return nil
	}
	return d.open[i]
}

// openQuestion returns the oldest question that Home Assistant itself has to answer, or nil.
// The sensor only shows threads with several questions at once.
func (d activity) openQuestion() *openTask {
	i := slices.IndexFunc(d.open, func(w *openTask) bool {
		q := w.envelope.Questions
		return w.envelope.Status == mess.NeedsInput && w.envelope.Requester == Actor && len(q) == 1 && q[0].Message == w.question
	})
	if i < 0 {
		return nil
	}
	return d.open[i]
}

// coverMovement returns the open request of Home Assistant that opens or closes a device, or
// nil.
func (d activity) coverMovement(device string, now time.Time) *openTask {
	for _, w := range slices.Backward(d.open) {
		capability, of := deviceOf(w.envelope)
		if of == device && (capability == "open" || capability == "close") && w.isCancellable(now) {
			return w
		}
	}
	return nil
}

// minCancellable is the least age of a task with a cancel button. Shorter tasks would make the
// button flicker.
const minCancellable = time.Second

// ownTask returns the newest open thread that Home Assistant has requested, or nil.
func (d activity) ownTask(now time.Time) *openTask {
	for _, w := range slices.Backward(d.open) {
		if w.isCancellable(now) {
			return w
		}
	}
	return nil
}

// isCancellable reports whether Home Assistant may cancel a thread that is old enough.
func (w *openTask) isCancellable(now time.Time) bool {
	return w.envelope.Requester == Actor && w.envelope.CancelBy == "" && now.Sub(w.envelope.Created) > minCancellable
}

// taskState returns the state of the task sensor: the status of the most urgent thread, or
// idle.
func (d activity) taskState() mess.Object {
	o := object("state", "idle")
	if w := d.mostUrgent(); w != nil {
		o = object("state", string(w.envelope.Status), "ref", w.envelope.Ref, "intent", w.envelope.Intent, "requestor", w.envelope.Requester)
		switch c := w.envelope.Confirm; {
		case w.envelope.Status == mess.NeedsConfirmation && c != nil:
			by := cmp.Or(c.By, w.envelope.Requester)
			o = append(o, object("action", w.action, "consequences", w.consequences, "confirm_by", by)...)
		case w.envelope.Status == mess.NeedsInput:
			o = append(o, object("question", w.asked, "options", w.options)...)
		}
		o = o.Set("open", len(d.open))
	}
	if d.last != nil {
		o = o.Set("last", d.last)
	}
	return o
}

// apply reads the question of a message.
func (w *openTask) apply(m mess.Message) {
	for _, item := range m.Items {
		s, ok := item.(*mess.Status)
		switch {
		case !ok:
		case s.Code == mess.NeedsConfirmation:
			w.action, w.consequences = s.Action, s.Consequences
		case s.Code == mess.NeedsInput:
			w.asked, w.question, w.options = "", m.Ref, nil
			for _, q := range s.Questions {
				w.asked, w.options = strings.TrimSpace(w.asked+" "+q.Question), append(w.options, q.Options...)
			}
		}
	}
}

// endSummary returns how a thread has ended, for the sensor.
func endSummary(e exchange.Envelope, m mess.Message) mess.Object {
	o := object("ref", e.Ref, "intent", e.Intent, "status", string(e.Status))
	for _, item := range m.Items {
		if s, ok := item.(*mess.Status); ok && s.Reason != nil && s.Reason.Detail != "" {
			o = o.Set("reason", s.Reason.Detail)
		}
	}
	return o
}

// executorOf returns the executor that holds a thread, or the only one that may take it, or "".
func executorOf(e exchange.Envelope) string {
	if e.Executor != "" {
		return e.Executor
	}
	for _, c := range e.Needs.Requires {
		meta, _ := c.Meta.(mess.Object)
		if v, ok := meta.Get("executor"); ok {
			id, _ := v.(string)
			return id
		}
	}
	return ""
}

// deviceOf returns the capability and device that a request of Home Assistant names.
func deviceOf(e exchange.Envelope) (capability, device string) {
	if len(e.Needs.Requires) == 0 {
		return "", ""
	}
	c := e.Needs.Requires[0]
	meta, _ := c.Meta.(mess.Object)
	v, _ := meta.Get("devices")
	if list, _ := v.([]any); len(list) > 0 {
		device, _ = list[0].(string)
	}
	return c.ID, device
}
