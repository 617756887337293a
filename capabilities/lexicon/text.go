package lexicon

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Subtract returns the devices of list that are not in without.
func Subtract(list, without []int) []int {
	return slices.DeleteFunc(slices.Clone(list), MemberTest(without))
}

// fewDevices is the largest length of a list that MemberTest searches one by one.
const fewDevices = 16

// MemberTest returns a test of whether a device is in the list. It is fast for many tests
// of one list.
func MemberTest(list []int) func(d int) bool {
	switch {
	case len(list) <= fewDevices:
		return func(d int) bool { return slices.Contains(list, d) }
	case slices.IsSorted(list):
		return func(d int) bool { _, is := slices.BinarySearch(list, d); return is }
	}
	set := make(map[int]bool, len(list))
	for _, d := range list {
		set[d] = true
	}
	return func(d int) bool { return set[d] }
}

// FoldKey returns a text that is equal for two texts if strings.EqualFold says that they
// are equal.
func FoldKey(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		if 'A' <= least && least <= 'Z' {
			least += 'a' - 'A'
		}
		return least
	}, s)
}

// Distinct returns the texts of the list without empty and repeated ones, in their order.
func Distinct(list []string) []string {
	var kept []string
	if len(list) > fewNames {
		seen := map[string]bool{"": true}
		for _, s := range list {
			if !seen[s] {
				seen[s], kept = true, append(kept, s)
			}
		}
		return kept
	}
	for _, s := range list {
		if s != "" && !slices.Contains(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// fewNames is the largest length of a list that Distinct compares one by one.
const fewNames = 16

// SpaceHyphens returns the text with a space for each hyphen.
func SpaceHyphens(s string) string { return strings.ReplaceAll(s, "-", " ") }

// QuoteList quotes each word, with commas between.
func QuoteList(words []string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(list, ", ")
}

// TextList takes a text or a list of texts. ok is false for any other value.
func TextList(v any) ([]string, bool) {
	switch v := v.(type) {
	case string:
		return []string{v}, true
	case []string:
		return v, true
	case []any:
		list := make([]string, len(v))
		for i, one := range v {
			text, ok := one.(string)
			if !ok {
				return nil, false
			}
			list[i] = text
		}
		return list, true
	}
	return nil, false
}

// OrList joins options for a question: "a, b or c".
func OrList(options []string) string {
	last := len(options) - 1
	return strings.Join(options[:last], ", ") + " or " + options[last]
}

// BothOrAll returns the option that takes all n options.
func BothOrAll(n int) string {
	if n == 2 {
		return "both"
	}
	return "all"
}

// UpperFirst returns the text with its first letter in upper case, if that is an ASCII
// letter.
func UpperFirst(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}
