package keys_test

import (
	"fmt"
	"log/slog"
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
				enrollAll(b, openEmpty(b), executors, true)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(executors*b.N), "ms/each")
		})
	}
}

// BenchmarkEnrollShared enrolls executors at an exchange that shares its keys, 64 at a time. The store costs
// nothing here. The figure is for one of them.
func BenchmarkEnrollShared(b *testing.B) {
	for _, executors := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("executors=%d", executors), func(b *testing.B) {
			for b.Loop() {
				k := openEmpty(b)
				if err := k.Share((&sharedDocuments{docs: map[string]map[string][]byte{}}).join(), slog.New(slog.DiscardHandler)); err != nil {
					b.Fatal(err)
				}
				enrollAll(b, k, executors, false)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(executors*b.N), "ms/each")
		})
	}
}

func openEmpty(b *testing.B) *keys.Keys {
	b.Helper()
	k, err := keys.Open(b.TempDir(), "home")
	if err != nil {
		b.Fatal(err)
	}
	return k
}

func enrollAll(b *testing.B, k *keys.Keys, executors int, pin bool) {
	b.Helper()
	var g sync.WaitGroup
	for w := range 64 {
		g.Go(func() {
			for i := w; i < executors; i += 64 {
				id := fmt.Sprint("pi-", i)
				if _, err := k.Enroll(id, keys.Grant{Roles: exchange.ExecutorRole}); err != nil {
					b.Error(err)
				}
				if !pin {
					continue
				}
				if first, err := k.Pin(id, oneKey); err != nil || first != oneKey {
					b.Errorf("%s: %s, %v", id, first, err)
				}
			}
		})
	}
	g.Wait()
}
