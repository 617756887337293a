package storetest

import (
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Each calls fn with every number below n, from that many concurrent goroutines. It returns the
// first error; a goroutine stops at its own error.
func Each(n, goroutines int, fn func(i int) error) error {
	var next atomic.Int64
	var g errgroup.Group
	for range min(n, goroutines) {
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := fn(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}
