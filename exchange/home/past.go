package home

import (
	"context"
	"errors"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// maxPast limits the tasks of an answer.
const maxPast = 20

// PastTask is a thread of a device, open or ended.
type PastTask struct {
	Result

	Intent    string `json:"intent"`
	Requester string `json:"requestor_id,omitempty"`
	Asked     *Asked `json:"asked,omitempty"` // of a request for a verb of a device
}

// Past returns the last threads of a device that an actor may see, the newest change first: at most
// 20. A thread belongs to the devices that its request names, and to those that its executor has said
// to use. The error is a *mess.Error.
func (h *Home) Past(ctx context.Context, actor exchange.Actor, id string) (*Device, []PastTask, error) {
	d, err := h.Device(id)
	if err != nil {
		return nil, nil, err
	}
	page, err := h.x.List(ctx, actor, exchange.Filter{Device: d.ID, Limit: maxPast})
	if err != nil {
		return nil, nil, err
	}
	list := []PastTask{}
	for i := range page.Threads {
		one, err := h.pastTask(ctx, actor, &page.Threads[i], d)
		if errors.Is(err, mess.NotFound) {
			continue // another program has removed it meanwhile
		}
		if err != nil {
			return nil, nil, err
		}
		list = append(list, one)
	}
	return d, list, nil
}

func (h *Home) pastTask(ctx context.Context, actor exchange.Actor, e *exchange.Envelope, d *Device) (PastTask, error) {
	if !e.Status.Terminal() {
		return PastTask{Result{Ref: e.Ref, Status: e.Status, Verb: verbFor(e, d), At: timeText(e.Updated)}, e.Intent, e.Requester, AskedOf(e)}, nil
	}
	t, err := h.x.Thread(ctx, actor, e.Ref)
	if err != nil {
		return PastTask{}, err
	}
	return PastTask{*resultOf(t, verbFor(&t.Envelope, d)), e.Intent, e.Requester, AskedOf(e)}, nil
}

// Reason returns the status and the reason with which a thread has ended, in words.
func (h *Home) Reason(ctx context.Context, ref string) string {
	t, err := h.x.Thread(ctx, all, ref)
	if err != nil {
		return err.Error()
	}
	return string(t.Status) + ": " + resultOf(t, "").Reason
}
