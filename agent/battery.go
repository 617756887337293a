package agent

import (
	"strconv"
	"sync"
	"time"

	"github.com/messkit/messkit/mess"
)

// batteryEvery is the least time between two readings of the battery for heartbeats.
const batteryEvery = time.Minute

// batteryReports says what the exchange learns about the battery of this machine. It is safe for
// concurrent use.
type batteryReports struct {
	read func() (mess.Battery, bool) // nil: this executor reports no battery
	now  func() time.Time

	mu    sync.Mutex
	at    time.Time // of the last reading
	known charge    // that the exchange has
}

// charge is a report of the battery.
type charge struct {
	mess.Battery

	has bool // the machine has one
}

// current reads the battery.
func (b *batteryReports) current() (c charge) {
	c.Battery, c.has = b.read()
	return c
}

// value returns the field of a report, "" for no battery.
func (c charge) value() any {
	if !c.has {
		return ""
	}
	return mess.Object{{Key: "percent", Value: mess.Number(strconv.FormatFloat(c.Percent, 'f', -1, 64))}, {Key: "charging", Value: c.Charging}}
}

// add adds the battery to the fields of a registration: "" for none, so that the exchange forgets an
// earlier one.
func (b *batteryReports) add(extra mess.Object) mess.Object {
	if b.read == nil {
		return extra
	}
	is := b.current()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at, b.known = b.now(), is
	return extra.Set(mess.BatteryField, is.value())
}

// change returns the field of a heartbeat, nil unless the battery has changed since the last report.
func (b *batteryReports) change() mess.Object {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.read == nil || b.now().Sub(b.at) < batteryEvery {
		return nil
	}
	b.at = b.now()
	is := b.current()
	if is == b.known {
		return nil
	}
	b.known = is
	return mess.Object{{Key: mess.BatteryField, Value: is.value()}}
}

// lost notes that the exchange may not have got the last change.
func (b *batteryReports) lost() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at, b.known = time.Time{}, charge{Battery: mess.Battery{Percent: -1}}
}
