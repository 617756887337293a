package output

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/messkit/messkit/mess"
)

// SortedKeys returns the keys of a map in order.
func SortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// Count returns a number with a noun: "1 device", "2 devices".
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// Done prints the success of a command for a name, or returns its error.
func (a *Env) Done(what, name string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) {
		return Hint(err, "nothing has changed, because the disk is full or read-only; make room. \"messkit stop\" holds without a disk")
	}
	if err == nil {
		_, err = fmt.Fprintf(a.Out, "%s: %s\n", what, name)
	}
	return err
}

// Joined returns statuses as a list in one text.
func Joined(codes []mess.Code) string {
	list := make([]string, len(codes))
	for i, c := range codes {
		list[i] = string(c)
	}
	return strings.Join(list, ", ")
}

// UpTime returns seconds as a duration, rounded to seconds.
func UpTime(seconds float64) time.Duration {
	return (time.Duration(seconds) * time.Second).Round(time.Second)
}

// Bytes returns a number of bytes with a unit.
func Bytes(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d MB", n>>20)
}
