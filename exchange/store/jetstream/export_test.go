package jetstream

import (
	"testing"
	"time"
)

// SetNewest sets the newest format that this program knows, and returns the one before.
func SetNewest(n string) (before string) {
	before, newest = newest, n
	return before
}

// Judge returns the finding about a server that has just answered with these settings.
func Judge(t testing.TB, text string) Finding {
	v, err := readVarz([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	a := monitorAnswer{address: "http://127.0.0.1:8222", v: v, clock: clockOf(v.Now, time.Now().Add(-time.Minute), time.Now())}
	return a.judge(Config{}, v.Name, peer{}, false)
}

// WithSnapshotAfter returns a configuration in which Snapshot writes after so few messages.
func WithSnapshotAfter(c Config, n uint64) Config {
	c.snapshotAfter = n
	return c
}
