package exchange

import (
	"context"

	"github.com/messkit/messkit/exchange/documents"
)

// doorKind is what the documents of a door are stored under.
func doorKind(door string) string { return "door-" + door }

// SaveChannelState stores something small that a door must know when the exchange runs
// again: a name and what goes with it; nil removes it.
func (x *Exchange) SaveChannelState(ctx context.Context, door, name string, doc []byte) error {
	if err := x.docs.Put(ctx, documents.Key{Kind: doorKind(door), ID: name}, doc); err != nil {
		return x.broken(err)
	}
	return nil
}

// ChannelState reads what a door has kept, by name.
func (x *Exchange) ChannelState(_ context.Context, door string) (map[string][]byte, error) {
	return x.docs.Read(doorKind(door)), nil
}

// IsRegistered reports whether an executor is registered, forgotten or not.
func (x *Exchange) IsRegistered(id string) bool {
	return x.registry.Snapshot().Executor(id) != nil
}

// ExecutorsChanged is closed when an executor has registered, has told what it does about an order
// or how its devices are, or is to be stopped. Ask for it before Executors. Silence closes
// nothing.
func (x *Exchange) ExecutorsChanged() <-chan struct{} { return x.registry.News() }
