package home

import (
	"context"
	"errors"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// Limits of the search for the tasks of a device.
const (
	maxPast      = 20  // tasks of an answer
	pastPage     = 200 // threads that one step of the search reads
	pastSearched = 5   // steps
)

// PastTask is a thread of a device, open or ended.
type PastTask struct {
	Result

	Intent    string `json:"intent"`
	Requester string `json:"requestor_id,omitempty"`
}

// Past returns the last threads of a device that an actor may see, the newest change first: at most
// 20 among the last 1000 threads. A thread belongs to the devices that its request names, and to
// those that its executor has said to use. The error is a *mess.Error.
func (h *Home) Past(ctx context.Context, actor exchange.Actor, id string) (*Device, []PastTask, error) {
	d, err := h.Device(id)
	if err != nil {
		return nil, nil, err
	}
	list, filter := []PastTask{}, exchange.Filter{Limit: pastPage}
	for range pastSearched {
		page, err := h.x.List(ctx, actor, filter)
		if err != nil {
			return nil, nil, err
		}
		for i := range page.Threads {
			e := &page.Threads[i]
			verb := verbFor(e, d)
			if verb == "" {
				continue
			}
			one, err := h.pastTask(ctx, actor, e, verb)
			if errors.Is(err, mess.NotFound) {
				continue // another program has removed it meanwhile
			}
			if err != nil {
				return nil, nil, err
			}
			if list = append(list, one); len(list) == maxPast {
				return d, list, nil
			}
		}
		if filter.Cursor = page.Cursor; filter.Cursor == "" {
			break
		}
	}
	return d, list, nil
}

func (h *Home) pastTask(ctx context.Context, actor exchange.Actor, e *exchange.Envelope, verb string) (PastTask, error) {
	one := PastTask{Result{Ref: e.Ref, Status: e.Status, Verb: verb, At: timeText(e.Updated)}, e.Intent, e.Requester}
	if !e.Status.Terminal() {
		return one, nil
	}
	t, err := h.x.Thread(ctx, actor, e.Ref)
	if err != nil {
		return one, err
	}
	one.Result = *resultOf(t, verb)
	return one, nil
}

// Reason returns the status and the reason with which a thread has ended, in words.
func (h *Home) Reason(ctx context.Context, ref string) string {
	t, err := h.x.Thread(ctx, all, ref)
	if err != nil {
		return err.Error()
	}
	return string(t.Status) + ": " + resultOf(t, "").Reason
}
