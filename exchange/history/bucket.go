package history

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"time"
)

// tier is a ring of buckets of one length. A bucket has the place of its number modulo count.
type tier struct {
	length time.Duration
	count  int64
}

// The tiers of a series: a day of minutes, and 30 days of hours.
var tiers = [...]tier{{time.Minute, 24 * 60}, {time.Hour, 30 * 24}}

// numberOf returns the number of the bucket that contains a time.
func (t tier) numberOf(at time.Time) int64 { return at.Unix() / int64(t.length/time.Second) }

// begin returns the time at which a bucket begins.
func (t tier) begin(number int64) time.Time {
	return time.Unix(number*int64(t.length/time.Second), 0).UTC()
}

// span is the time that the tier keeps.
func (t tier) span() time.Duration { return time.Duration(t.count) * t.length }

// bucket summarizes the values of one span of time.
type bucket struct{ last, min, max float32 }

func bucketOf(value float64) bucket {
	v := float32(value)
	return bucket{v, v, v}
}

// followedBy returns the summary of two parts of the same span. later is the newer part.
func (b bucket) followedBy(later bucket) bucket {
	return bucket{later.last, min(b.min, later.min), max(b.max, later.max)}
}

// buckets are buckets of one tier by their numbers.
type buckets map[int64]bucket

// put adds the newest values of a span of time.
func (l buckets) put(number int64, b bucket) {
	if old, is := l[number]; is {
		b = old.followedBy(b)
	}
	l[number] = b
}

// seriesBuckets are the buckets of a device in each tier, by series.
type seriesBuckets map[seriesName][len(tiers)]buckets

// of returns the buckets of a series in each tier, which it makes.
func (l seriesBuckets) of(name seriesName) [len(tiers)]buckets {
	if _, is := l[name]; !is {
		var all [len(tiers)]buckets
		for i := range all {
			all[i] = buckets{}
		}
		l[name] = all
	}
	return l[name]
}

// names returns the names of the series in order.
func (l seriesBuckets) names() []seriesName {
	return slices.SortedFunc(maps.Keys(l), func(a, b seriesName) int {
		return cmp.Or(cmp.Compare(a.Quantity, b.Quantity), cmp.Compare(a.Unit, b.Unit))
	})
}

// slotSize is the size of a bucket in a file, in bytes: its number, its three values, and a
// checksum, each with four bytes.
const slotSize = 20

// encode returns the bucket as a slot of a file.
func (b bucket) encode(number int64) []byte {
	slot := make([]byte, slotSize)
	binary.LittleEndian.PutUint32(slot, uint32(number))
	for i, v := range []float32{b.last, b.min, b.max} {
		binary.LittleEndian.PutUint32(slot[4+4*i:], math.Float32bits(v))
	}
	binary.LittleEndian.PutUint32(slot[16:], crc32.ChecksumIEEE(slot[:16]))
	return slot
}

// decodeBucket reads a slot. A slot that nobody has written, or that a power cut has torn, is not
// valid.
func decodeBucket(slot []byte) (number int64, b bucket, valid bool) {
	if len(slot) != slotSize || binary.LittleEndian.Uint32(slot[16:]) != crc32.ChecksumIEEE(slot[:16]) {
		return 0, b, false
	}
	value := func(at int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(slot[at:])) }
	b = bucket{value(4), value(8), value(12)}
	for _, v := range []float32{b.last, b.min, b.max} {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return 0, b, false
		}
	}
	return int64(binary.LittleEndian.Uint32(slot)), b, true
}
