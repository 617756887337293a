package home

import (
	"context"
	"errors"
	"slices"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// maxTasks limits the open threads that a home shows. They are those that changed last.
const maxTasks = 1000

// taskTable has the newest open thread for each device by its name in requires.
type taskTable map[string][]exchange.Envelope

// tasks returns the open threads that name a device.
func (h *Home) tasks(ctx context.Context) (taskTable, error) {
	page, err := h.x.List(ctx, all, exchange.Filter{Status: exchange.OpenCodes(), Limit: maxTasks})
	if err != nil {
		return nil, err
	}
	t := taskTable{}
	for _, e := range page.Threads {
		for _, name := range namedDevices(&e) {
			t[name] = append(t[name], e)
		}
	}
	for _, list := range t {
		slices.SortFunc(list, func(a, b exchange.Envelope) int { return b.Created.Compare(a.Created) })
	}
	return t, nil
}

// namedDevices returns the devices that a request names, and those that its holder uses.
func namedDevices(e *exchange.Envelope) (names []string) {
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, c := range e.Needs.Requires {
		meta, _ := c.Meta.(mess.Object)
		for _, name := range meta.Texts("devices") {
			add(name)
		}
	}
	for _, u := range e.Uses {
		add(u.Device)
	}
	return names
}

// of returns the newest open thread for a device, or nil.
func (t taskTable) of(d *Device) *Task {
	for _, e := range t[d.Device] {
		if verb := verbFor(&e, d); verb != "" {
			return &Task{Ref: e.Ref, Status: e.Status, Verb: verb, Intent: e.Intent, Requester: e.Requester}
		}
	}
	return nil
}

// OpenTask returns the newest open thread for a device of an executor, or nil.
func (h *Home) OpenTask(ctx context.Context, executor, device string) (*Task, error) {
	table, err := h.tasks(ctx)
	if err != nil {
		return nil, err
	}
	return table.of(&Device{Executor: executor, Device: device}), nil
}

// verbFor returns the capability that a thread requires of a device, or for which its holder uses it;
// "" if it means another one.
func verbFor(e *exchange.Envelope, d *Device) string {
	by := e.Executor
	if e.Status == mess.Pending {
		by = ""
	}
	if by != "" && by != d.Executor {
		return ""
	}
	for _, u := range e.Uses {
		if by != "" && u.Device == d.Device {
			return u.Capability
		}
	}
	for _, c := range e.Needs.Requires {
		meta, _ := c.Meta.(mess.Object)
		if by := meta.Texts("executor"); by != nil && !slices.Contains(by, d.Executor) {
			continue
		}
		if slices.Contains(meta.Texts("devices"), d.Device) {
			return c.ID
		}
	}
	return ""
}

// maxOpen limits the open threads of one device whose results a home awaits. They are the newest.
const maxOpen = 16

// results has the threads of a device that verbs have made, and those that the home has shown.
type results struct {
	open []made
	last *Result
}

// threadOf returns the thread of a shown task.
func threadOf(t *Task) made { return made{t.Ref, t.Verb} }

// made is such a thread.
type made struct{ ref, verb string }

// Made records that an order has the thread ref, so that the home shows its result.
func (h *Home) Made(o *Order, ref string) { h.await(o.Device, made{ref, o.Verb}) }

// await makes the home show the result of a thread at a device.
func (h *Home) await(device string, m made) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.results[device]
	if r == nil {
		r = &results{}
		h.results[device] = r
	}
	is := func(o made) bool { return o.ref == m.ref }
	if !slices.ContainsFunc(r.open, is) && (r.last == nil || r.last.Ref != m.ref) {
		r.open = append(r.open[max(0, len(r.open)-maxOpen+1):], m)
	}
}

// lastResult returns the result of the thread for a device that has ended last, or nil.
func (h *Home) lastResult(ctx context.Context, id string) *Result {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.results[id]
	if r == nil {
		return nil
	}
	r.open = slices.DeleteFunc(r.open, func(m made) bool {
		e, err := h.x.Envelope(ctx, all, m.ref)
		if err != nil || !e.Status.Terminal() {
			return errors.Is(err, mess.NotFound)
		}
		t, err := h.x.Thread(ctx, all, m.ref)
		if err != nil {
			return false
		}
		if one := resultOf(t, m.verb); r.last == nil || !one.ended.Before(r.last.ended) {
			r.last = one
		}
		return true
	})
	return r.last
}

// resultOf returns the result of an ended thread.
func resultOf(t exchange.Thread, verb string) *Result {
	r := &Result{Ref: t.Ref, Status: t.Status, Verb: verb, At: timeText(t.Updated), requester: t.Requester, ended: t.Updated}
	for _, m := range slices.Backward(t.Messages) {
		for _, item := range m.Items {
			s, ok := item.(*mess.Status)
			if !ok || s.Code != t.Status {
				continue
			}
			r.Evidence, r.Reason = s.Evidence, s.ReasonText()
			return r
		}
	}
	return r
}

func isSameTask(a, b *Task) bool { return a == b || a != nil && b != nil && *a == *b }
