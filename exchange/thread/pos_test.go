package thread_test

import (
	"strconv"
	"testing"

	"github.com/messkit/messkit/exchange/thread"
)

func FuzzPosBefore(f *testing.F) {
	f.Add(uint64(9), uint64(10))
	f.Add(uint64(0), uint64(0))
	f.Add(uint64(1<<64-1), uint64(1<<63))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		p, q := thread.Pos(strconv.FormatUint(a, 10)), thread.Pos(strconv.FormatUint(b, 10))
		if p.Before(q) != (a < b) || !thread.Pos("").Before(p) || p.Before("") {
			t.Errorf("%s before %s: %t", p, q, p.Before(q))
		}
	})
}
