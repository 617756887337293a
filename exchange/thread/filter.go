package thread

import (
	"slices"
	"strconv"
	"time"

	"github.com/messkit/messkit/mess"
)

// Filter selects threads.
type Filter struct {
	Status    []mess.Code // any of these; none: all
	Executor  string
	Requestor string
	Party     string    // requested or ever held by this actor, or waiting for a claim
	Since     time.Time // updated at or after
	Limit     int       // 0: 50; at most 1000
	Cursor    string    // from the page before
}

// Page is one page of a list, newest change first.
type Page struct {
	Threads []Envelope
	Cursor  string // "" on the last page
}

// From is the change from which on a page begins, by its number: one beyond the
// first that is shown.
func (f Filter) From() (uint64, error) {
	if f.Cursor == "" {
		return 1<<64 - 1, nil
	}
	n, err := strconv.ParseUint(f.Cursor, 10, 64)
	if err != nil {
		return 0, mess.Errorf(mess.Invalid, "cursor: %q was not given by this exchange; leave it out to start again", f.Cursor)
	}
	return n, nil
}

// Max is how many threads a page holds.
func (f Filter) Max() int {
	if f.Limit <= 0 {
		return 50
	}
	return min(f.Limit, 1000)
}

// Match reports whether the filter selects e. It looks neither at Limit nor at
// Cursor.
func (f Filter) Match(e Envelope) bool {
	return (len(f.Status) == 0 || slices.Contains(f.Status, e.Status)) &&
		(f.Executor == "" || f.Executor == e.Executor) &&
		(f.Requestor == "" || f.Requestor == e.Requestor) &&
		(f.Party == "" || e.IsParty(f.Party)) &&
		!e.Updated.Before(f.Since)
}
