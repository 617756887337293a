package wording

import (
	"fmt"
	"strings"
)

// tooMany is the length from which counted replaces a list by its length.
const tooMany = 6

// Counted lists some results, or returns their number if there are many. The lists of the
// status contain all of them.
func Counted(words []string) string {
	if len(words) <= tooMany {
		return List(words)
	}
	return fmt.Sprintf("%d of them", len(words))
}

// AnyList returns words as values for JSON.
func AnyList(words []string) []any {
	var list []any
	for _, w := range words {
		list = append(list, w)
	}
	return list
}

// Sentence turns a part of a sentence into a sentence.
func Sentence(s string) string {
	if s == "" {
		return ""
	}
	first, rest := s[:1], s[1:]
	if first >= "a" && first <= "z" {
		first = string(first[0] - 'a' + 'A')
	}
	return first + rest + "."
}

// List returns "a, b and c".
func List(words []string) string {
	switch n := len(words); n {
	case 0:
		return "nothing"
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

// Sentences joins the sentences that are not empty with spaces.
func Sentences(s ...string) string {
	var list []string
	for _, one := range s {
		if one != "" {
			list = append(list, one)
		}
	}
	return strings.Join(list, " ")
}
