package thread

import (
	"strconv"
	"time"

	"github.com/messkit/messkit/mess"
)

// Filter selects threads.
type Filter struct {
	Status     []mess.Code // any of these; none means all
	Executor   string
	Requester  string
	Capability string    // one that the request requires
	Device     string    // one of its devices, EXECUTOR:DEVICE
	Party      string    // requester, or present or former holder; also selects pending threads
	Since      time.Time // changed at or after this time
	Limit      int       // 0: 50; at most 1000
	Cursor     string    // from the page before
}

// Page is one page of a list, the newest change first.
type Page struct {
	Threads []Envelope
	Cursor  string // "" on the last page
}

// From returns the number of the change at which the page begins. The page shows only earlier
// changes.
func (f Filter) From() (uint64, error) {
	if f.Cursor == "" {
		return 1<<64 - 1, nil
	}
	n, err := strconv.ParseUint(f.Cursor, 10, 64)
	if err != nil {
		return 0, mess.Errorf(mess.Invalid, "cursor: %q is not a cursor of this exchange; leave it out to start again", f.Cursor)
	}
	return n, nil
}

// Subject returns the name of the field by which the filter selects threads by a subject, or "".
func (f Filter) Subject() string {
	switch {
	case f.Device != "":
		return "device"
	case f.Capability != "":
		return "capability"
	}
	return ""
}

// Max returns the size of a page.
func (f Filter) Max() int {
	if f.Limit <= 0 {
		return 50
	}
	return min(f.Limit, 1000)
}
