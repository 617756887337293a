package wal

import "time"

// written counts the bytes written to the disk.
type written struct {
	total, today int64 // bytes
	day          time.Time
}

// Written returns the bytes written since Open, and those of today, without the overhead of the
// file system.
func (l *Log) Written() (total, today int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written.turn(l.opts.Now())
	return l.written.total, l.written.today
}

// countBytes counts n more bytes.
func (l *Log) countBytes(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written.turn(l.opts.Now())
	l.written.total += n
	l.written.today += n
}

// turn resets the count of today on another day.
func (w *written) turn(now time.Time) {
	y, m, d := now.Date()
	if day := time.Date(y, m, d, 0, 0, 0, 0, now.Location()); !day.Equal(w.day) {
		w.day, w.today = day, 0
	}
}
