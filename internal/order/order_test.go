package order_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/messkit/messkit/internal/order"
)

func FuzzBy(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte{1})
	f.Add([]byte{2, 1, 2, 0, 1, 1, 9, 0, 255})
	f.Add(slices.Repeat([]byte{3, 1, 2, 1}, 50))
	f.Fuzz(func(t *testing.T, keys []byte) {
		type one struct {
			key byte
			at  int // which of the equal ones
		}
		var list []one
		for i, k := range keys {
			list = append(list, one{k % 8, i})
		}
		want := slices.SortedStableFunc(slices.Values(list), func(a, b one) int { return cmp.Compare(a.key, b.key) })
		order.By(list, func(a, b one) int { return cmp.Compare(a.key, b.key) })
		if !slices.Equal(list, want) {
			t.Errorf("%v, want %v", list, want)
		}
	})
}
