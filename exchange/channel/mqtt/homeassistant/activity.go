package homeassistant

import (
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// work is an open thread of an executor, with what is asked in it.
type work struct {
	env                  exchange.Envelope
	action, consequences string   // that need a yes
	asked                string   // the question that waits for an answer
	of                   string   // the ref of its message
	options              []string // to it
}

// doing is what an executor is at.
type doing struct {
	open []*work // the oldest first
	last mess.Object
}

// gravity orders statuses by what a person should see first.
var gravity = []mess.Code{
	mess.NeedsConfirmation, mess.NeedsInput, mess.InProgress, mess.Held, mess.Retrying, mess.Waiting, mess.Claimed, mess.Pending,
}

// first is the thread to show; nil if there is none.
func (d doing) first() *work {
	for _, code := range gravity {
		if i := slices.IndexFunc(d.open, func(w *work) bool { return w.env.Status == code }); i >= 0 {
			return d.open[i]
		}
	}
	return nil
}

// question is the oldest confirmation that waits for Home Assistant's own word;
// nil if there is none. What needs somebody else's is only shown.
func (d doing) question() *work {
	i := slices.IndexFunc(d.open, func(w *work) bool {
		c := w.env.Confirm
		return w.env.Status == mess.NeedsConfirmation && w.env.Requestor == Actor && c != nil && c.Given == nil && c.By == ""
	})
	if i < 0 {
		return nil
	}
	return d.open[i]
}

// input is the oldest question that waits for Home Assistant's own answer; nil if
// there is none. Several at once are only shown.
func (d doing) input() *work {
	i := slices.IndexFunc(d.open, func(w *work) bool {
		q := w.env.Questions
		return w.env.Status == mess.NeedsInput && w.env.Requestor == Actor && len(q) == 1 && q[0].Message == w.of
	})
	if i < 0 {
		return nil
	}
	return d.open[i]
}

// moving is what Home Assistant has asked for that opens or closes a device; nil if
// there is nothing.
func (d doing) moving(device string, now time.Time) *work {
	for _, w := range slices.Backward(d.open) {
		capability, of := deviceOf(w.env)
		if of == device && (capability == "open" || capability == "close") && w.cancellable(now) {
			return w
		}
	}
	return nil
}

// longer is how long a task takes at least that can be cancelled: what is done in
// a moment would only make the button flicker.
const longer = time.Second

// own is the newest open thread that Home Assistant has asked for; nil if there is
// none.
func (d doing) own(now time.Time) *work {
	for _, w := range slices.Backward(d.open) {
		if w.cancellable(now) {
			return w
		}
	}
	return nil
}

// cancellable reports whether Home Assistant may take a thread back, and it is
// worth showing.
func (w *work) cancellable(now time.Time) bool {
	return w.env.Requestor == Actor && w.env.CancelBy == "" && now.Sub(w.env.Created) > longer
}

// state is what the sensor shows: the status of the gravest thread, or idle.
func (d doing) state() mess.Object {
	o := object("state", "idle")
	if w := d.first(); w != nil {
		o = object("state", string(w.env.Status), "ref", w.env.Ref, "intent", w.env.Intent, "requestor", w.env.Requestor)
		switch c := w.env.Confirm; {
		case w.env.Status == mess.NeedsConfirmation && c != nil:
			by := c.By
			if by == "" {
				by = w.env.Requestor
			}
			o = append(o, object("action", w.action, "consequences", w.consequences, "confirm_by", by)...)
		case w.env.Status == mess.NeedsInput:
			o = append(o, object("question", w.asked, "options", w.options)...)
		}
		o = o.Set("open", len(d.open))
	}
	if d.last != nil {
		o = o.Set("last", d.last)
	}
	return o
}

// take takes the words of a message.
func (w *work) take(m mess.Message) {
	for _, item := range m.Items {
		s, ok := item.(*mess.Status)
		switch {
		case !ok:
		case s.Code == mess.NeedsConfirmation:
			w.action, w.consequences = s.Action, s.Consequences
		case s.Code == mess.NeedsInput:
			w.asked, w.of, w.options = "", m.Ref, nil
			for _, q := range s.Questions {
				w.asked, w.options = strings.TrimSpace(w.asked+" "+q.Question), append(w.options, q.Options...)
			}
		}
	}
}

// ended is how a thread has ended, for the sensor.
func ended(e exchange.Envelope, m mess.Message) mess.Object {
	o := object("ref", e.Ref, "intent", e.Intent, "status", string(e.Status))
	for _, item := range m.Items {
		if s, ok := item.(*mess.Status); ok && s.Reason != nil && s.Reason.Detail != "" {
			o = o.Set("reason", s.Reason.Detail)
		}
	}
	return o
}

// asksOf is the executor that a thread is with: who holds it, or whom alone it
// was meant for; "" if that is nobody yet.
func asksOf(e exchange.Envelope) string {
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

// deviceOf is the capability and device that Home Assistant has asked for.
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
