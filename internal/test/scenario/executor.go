// Package scenario provides an executor with scripted reactions, for the tests of channels.
package scenario

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// Kitchen is the actor of an Executor.
var Kitchen = exchange.Actor{ID: "kitchen-pi", Roles: exchange.ExecutorRole}

// Executor is an executor of an exchange with the capability take-photo.
type Executor struct {
	testing.TB
	*exchange.Local
	// React reacts to a message about a thread. Run calls it once for each request, in the order
	// of the messages.
	React func(ctx context.Context, ref string, item mess.Item)

	mu   sync.Mutex
	done []string
}

// NewExecutor makes an executor without a registration.
func NewExecutor(t testing.TB, x *exchange.Exchange) *Executor {
	return &Executor{TB: t, Local: x.As(Kitchen, "local")}
}

// Register registers the executor.
func (e *Executor) Register() {
	e.SendText(`config: {executor: {id: kitchen-pi, versions: [1.1.0], capabilities: [take-photo]}}`)
}

// Run receives messages until ctx ends.
func (e *Executor) Run(ctx context.Context) {
	offered := map[string]bool{}
	_ = e.Receive(ctx, func(m mess.Message) {
		if len(m.Items) == 0 || len(m.Re) == 0 {
			return
		}
		if _, ok := m.Items[0].(*mess.Request); ok {
			if offered[m.Re[0]] {
				return
			}
			offered[m.Re[0]] = true
		}
		e.React(ctx, m.Re[0], m.Items[0])
	})
}

// SendText sends the message in a YAML text.
func (e *Executor) SendText(text string) {
	m, err := mess.Parse([]byte(text))
	if err == nil {
		_, err = e.Send(context.Background(), m)
	}
	if err != nil {
		e.Errorf("the executor says %s: %v", text, err)
	}
}

// SendTo sends items about a thread.
func (e *Executor) SendTo(ref, items string) { e.SendText("re: " + ref + "\nMESS: " + items) }

// Photo completes a request with a photo, fridge.jpg.
func (e *Executor) Photo(ctx context.Context, ref string, jpeg []byte, capturedAt mess.Time) {
	media, err := e.Attach(ctx, ref, "fridge.jpg", "image/jpeg", bytes.NewReader(jpeg))
	if err == nil {
		media.CapturedAt = capturedAt
		_, err = e.Send(ctx, mess.Message{Re: mess.Refs{ref}, Items: []mess.Item{
			&mess.Status{Code: mess.Completed, Evidence: mess.Photographed},
			&mess.Response{Content: []mess.Entry{mess.TextEntry("the fridge"), mess.MediaEntry("image", media)}},
		}})
	}
	if err != nil {
		e.Error(err)
	}
}

// RecordAct records an action.
func (e *Executor) RecordAct(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done = append(e.done, what)
}

// Acts returns the recorded actions in their order.
func (e *Executor) Acts() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.done)
}
