package exchange

import "context"

// doorKind is what the documents of a door are stored under.
func doorKind(door string) string { return "door-" + door }

// Keep stores something small that a door must know when the exchange runs
// again: a name and what goes with it; nil removes it.
func (x *Exchange) Keep(ctx context.Context, door, name string, doc []byte) error {
	if err := x.docs.Put(ctx, doorKind(door), name, doc); err != nil {
		return x.broken(err)
	}
	return nil
}

// Kept reads what a door has kept, by name.
func (x *Exchange) Kept(ctx context.Context, door string) (map[string][]byte, error) {
	docs, err := x.docs.Docs(ctx, doorKind(door))
	if err != nil {
		return nil, x.broken(err)
	}
	return docs, nil
}

// Registered reports whether an executor is registered, forgotten or not.
func (x *Exchange) Registered(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.executors[id] != nil
}
