package client

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/messkit/messkit/internal/cli/output"
)

// The client tries an absent exchange again for a while: it may restart. No event reports its
// return, so the client asks at intervals.
const (
	lookPeriod    = 5 * time.Second
	longestAbsent = 2 * time.Minute
)

// recordAbsence records that the exchange did not answer. An error ends the waiting.
func (f *Follower) recordAbsence(ctx context.Context, cause error) error {
	longest := cmp.Or(f.w.Absent, longestAbsent)
	switch {
	case ctx.Err() != nil:
		return cause
	case f.Away.IsZero():
		f.Away = time.Now()
		return f.note("the exchange does not answer: %v; trying again", cause)
	case time.Since(f.Away) < longest:
		return nil
	}
	return output.Hint(fmt.Errorf("%s: the exchange did not answer for %s: %v", f.ref, longest, cause),
		"the request is not withdrawn; messkit show %s shows the result when the exchange is there", f.ref)
}

// back records that the exchange answers again.
func (f *Follower) back() error {
	if f.Away.IsZero() {
		return nil
	}
	f.Away = time.Time{}
	return f.note("the exchange is there again")
}

// note prints a line to standard error, and repeats an open question.
func (f *Follower) note(format string, args ...any) error {
	out := f.out
	if f.w.AsJSON {
		out = f.app.Err
	}
	if f.asking != nil {
		format = "\n  " + format
	} else {
		format = "  " + format
	}
	if _, err := fmt.Fprintf(out, format+"\n", args...); err != nil || f.asking == nil {
		return err
	}
	return f.prompt(f.app.In)
}
