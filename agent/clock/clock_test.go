package clock_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/messkit/messkit/agent/clock"
)

func TestUnset(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	boot := time.Unix(0, 0).UTC()
	synced := fstest.MapFS{"run/systemd/timesync/synchronized": {}}
	rtc := func(text string) fstest.MapFS {
		return fstest.MapFS{"sys/class/rtc/rtc0/hctosys": {Data: []byte(text)}}
	}
	for _, c := range []struct {
		name   string
		now    time.Time
		synced bool
		err    error
		root   fstest.MapFS
		want   string // "" for a set clock
	}{
		{"kept by the kernel", now, true, nil, nil, ""},
		{"kept by systemd", now, false, nil, synced, ""},
		{"with a battery", now, false, nil, rtc("1\n"), ""},
		{"with a battery that is not used", now, false, nil, rtc("0\n"), "no time server"},
		{"no time source", now, false, nil, nil, "no time server"},
		{"a kernel without the information", now, true, errors.New("not here"), nil, "no time server"},
		{"1970", boot, true, nil, synced, "believes that it is 1970-01-01"},
		{"2000", boot.AddDate(30, 0, 0), true, nil, rtc("1"), "believes that it is 2000-01-01"},
	} {
		err := clock.Signs{
			Now: func() time.Time { return c.now }, Synced: func() (bool, error) { return c.synced, c.err }, Root: c.root,
		}.Unset()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Here reads the signs of this machine without a failure.
func TestHere(t *testing.T) {
	s := clock.Here()
	if _, err := s.Synced(); err != nil {
		t.Error(err)
	}
	if err := s.Unset(); err != nil && !strings.Contains(err.Error(), "this machine") {
		t.Error(err)
	}
}
