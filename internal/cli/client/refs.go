package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Begun are the refs that a person means by the beginning of one, as git has it: the ref
// itself, else those that begin so. A number that is whole begins no longer one: 100 is
// not 1000.
func Begun(beginning string, refs []string) (found []string) {
	if slices.Contains(refs, beginning) {
		return []string{beginning}
	}
	if _, enough := dayOf(beginning); !enough {
		return nil
	}
	if number := beginning[len(time.DateOnly)+1:]; len(number) >= wholeNumber && strings.Trim(number, "0123456789") == "" {
		beginning += "-"
	}
	for _, ref := range refs {
		if strings.HasPrefix(ref, beginning) {
			found = append(found, ref)
		}
	}
	return found
}

// wholeNumber is how many digits the number of a ref has at least.
const wholeNumber = 3

// dayOf is the day with which a ref begins; false where it is too little of one: the
// day, and something of the number.
func dayOf(ref string) (time.Time, bool) {
	const day = len(time.DateOnly)
	if !messeaf.ValidRef(ref) || len(ref) < day+2 || ref[day] != '-' {
		return time.Time{}, false
	}
	at, err := time.Parse(time.DateOnly, ref[:day])
	return at, err == nil
}

// WholeRef is the ref that name is the beginning of, with what stands behind it after a
// slash. What is none, or the ref of a thread already, stays as it is: the exchange
// tells what is wrong with it.
func WholeRef(ctx context.Context, x *remote.Client, name string) (string, error) {
	ref, message, slash := strings.Cut(name, "/")
	day, is := dayOf(ref)
	if !is && strings.Trim(ref, "0123456789-") != "" {
		return name, nil
	}
	_, err := x.Thread(ctx, ref)
	switch {
	case !errors.Is(err, mess.NotFound):
		return name, nil
	case !is:
		return "", output.Hint(err, "a ref begins with its day and something of its number, like %s-001; messkit ls lists them", time.Now().Format(time.DateOnly))
	}
	// The days of the exchange are those of its own place.
	list, err := x.List(ctx, remote.Filter{Since: day.AddDate(0, 0, -1), Limit: 1 << 30})
	if err != nil {
		return "", err
	}
	refs, intents := make([]string, len(list)), map[string]string{}
	for i, t := range list {
		refs[i], intents[t.Ref] = t.Ref, t.Intent
	}
	switch found := Begun(ref, refs); {
	case len(found) == 0:
		return name, nil
	case len(found) > 1:
		return "", SeveralBegin(ref, found, intents)
	case slash:
		return found[0] + "/" + message, nil
	default:
		return found[0], nil
	}
}

// mostCandidates is how many refs are named of those that begin alike.
const mostCandidates = 8

// SeveralBegin tells that a beginning is not enough, and names the candidates, the newest
// first, with what was asked for where that is known.
func SeveralBegin(beginning string, refs []string, intents map[string]string) error {
	slices.Sort(refs)
	slices.Reverse(refs)
	var lines []string
	for _, ref := range refs[:min(len(refs), mostCandidates)] {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("  %s  %s", ref, output.Printable(intents[ref])), " "))
	}
	if more := len(refs) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return fmt.Errorf("%s: %d refs begin so; write more of the one that is meant:\n%s", beginning, len(refs), strings.Join(lines, "\n"))
}
