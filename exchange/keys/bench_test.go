package keys_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
)

// BenchmarkEnroll enrolls executors with receipt keys, 64 at a time. The figure is for one of them.
func BenchmarkEnroll(b *testing.B) {
	for _, executors := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("executors=%d", executors), func(b *testing.B) {
			for b.Loop() {
				k, err := keys.Open(b.TempDir(), "home")
				if err != nil {
					b.Fatal(err)
				}
				var g sync.WaitGroup
				for w := range 64 {
					g.Go(func() {
						for i := w; i < executors; i += 64 {
							id := fmt.Sprint("pi-", i)
							if _, err := k.Enroll(id, keys.Grant{Roles: exchange.ExecutorRole}); err != nil {
								b.Error(err)
							}
							if first, err := k.Pin(id, oneKey); err != nil || first != oneKey {
								b.Errorf("%s: %s, %v", id, first, err)
							}
						}
					})
				}
				g.Wait()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(executors*b.N), "ms/each")
		})
	}
}
