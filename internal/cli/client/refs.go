package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Begun returns the refs that a beginning stands for, as in git: the ref itself, or those
// with this prefix. A whole number is no prefix of a longer one: 100 does not mean 1000.
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

// wholeNumber is the least number of digits in the number of a ref.
const wholeNumber = 3

// dayOf returns the day at the beginning of a ref. It returns false for less than a day and
// one digit of the number.
func dayOf(ref string) (time.Time, bool) {
	const day = len(time.DateOnly)
	if !messeaf.ValidRef(ref) || len(ref) < day+2 || ref[day] != '-' {
		return time.Time{}, false
	}
	at, err := time.Parse(time.DateOnly, ref[:day])
	return at, err == nil
}

// WholeRef completes the beginning of a ref and keeps the part after a slash. Other names,
// and whole refs, stay as they are: the exchange reports their errors.
func WholeRef(ctx context.Context, x *httpclient.Client, name string) (string, error) {
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
	// The exchange may be in another time zone.
	list, err := x.List(ctx, httpclient.Filter{Since: day.AddDate(0, 0, -1), Limit: 1 << 30})
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

// mostCandidates is the largest number of refs in the error for an ambiguous beginning.
const mostCandidates = 8

// SeveralBegin returns the error for an ambiguous beginning. It names the candidates, newest
// first, with their requests if known.
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
	return fmt.Errorf("%s: %d refs begin with it; write more of the ref:\n%s", beginning, len(refs), strings.Join(lines, "\n"))
}
