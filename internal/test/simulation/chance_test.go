package simulation_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// chance is the source of all random decisions. A decision depends on the seed, the place and the
// time alone, and not on the order of the calls: goroutines of one moment run in any order.
type chance struct {
	seed   uint64
	healed atomic.Bool // no more faults
}

func (c *chance) at(place ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %v", time.Now().UnixNano(), place)
	return rand.New(rand.NewPCG(c.seed, h.Sum64()))
}

// of returns a generator that does not depend on the time.
func (c *chance) of(place ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%v", place)
	return rand.New(rand.NewPCG(c.seed, h.Sum64()))
}

// bad reports whether a fault of probability p happens.
func (c *chance) bad(r *rand.Rand, p float64) bool { return r.Float64() < p && !c.healed.Load() }

// between returns a duration from low to high. It adds random nanoseconds, so that no two events
// happen at the same moment.
func between(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)+1)) + time.Duration(r.IntN(1e6))
}

// sleep waits, and reports false if ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// clockAt returns the time of a machine whose wall clock has a step of d, and whose monotonic
// clock has none. In a bubble, time.Now has no monotonic reading, and package time has no
// function to add one. So clockAt builds the representation of package time: a flag, the seconds
// since 1885 in 33 bits, the nanoseconds in 30.
func clockAt(t time.Time, d time.Duration) time.Time {
	wall := t.Add(d)
	made := wall
	words := (*[2]uint64)(unsafe.Pointer(&made))
	words[0] = 1<<63 | uint64(wall.Unix()-time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix())<<30 | uint64(wall.Nanosecond())
	words[1] = uint64(t.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))) + 1
	return made
}

func TestSteppedClock(t *testing.T) {
	at := time.Date(2000, 1, 2, 3, 4, 5, 6, time.UTC)
	before, after := clockAt(at, time.Hour), clockAt(at.Add(time.Second), -time.Hour)
	if after.Sub(before) != time.Second || !before.Round(0).Equal(at.Add(time.Hour)) || !after.Round(0).Equal(at.Add(time.Second-time.Hour)) {
		t.Errorf("%v and then %v, %v later; the hands should go back by two hours, and one second pass", before, after, after.Sub(before))
	}
}
