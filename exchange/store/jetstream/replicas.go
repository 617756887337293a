package jetstream

import (
	"context"
	"maps"
	"slices"
)

// Replica is a server that has the threads and the attachments.
type Replica struct {
	Name    string
	Problem string // why it may lack the last messages, with a remedy; "" if it has them
}

// Replicas asks the leaders of the streams which servers have the threads, and returns them by name. The
// error is that of the servers or of ctx: without a leader nobody knows it.
func (s *Store) Replicas(ctx context.Context) (all []Replica, err error) {
	peers, err := s.peers(ctx)
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		all = append(all, Replica{name, peers[name].problem()})
	}
	return all, err
}
