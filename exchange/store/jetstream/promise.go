package jetstream

import "context"

// Promise says which loss the settings of the servers exclude.
type Promise struct{}

func (s *Store) findPromise(context.Context) (Promise, error) { return Promise{}, nil }
