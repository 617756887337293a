package natslink

import (
	"fmt"
	"strings"
)

// Subjects begins the subjects of the executors of one exchange.
type Subjects string

// CheckWord returns an error for a text that cannot be a prefix or a site. Both are part of subjects
// and of stream names.
func CheckWord(text string) error {
	isOther := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	if text == "" || len(text) > 60 || strings.ContainsFunc(text, isOther) {
		return fmt.Errorf("%.80q is not a word for subjects; use up to 60 letters, digits, - and _", text)
	}
	return nil
}

// DefaultPrefix is the first word of all subjects of messkit, unless configured.
const DefaultPrefix = "mess"

// Of returns the subjects of an exchange with a prefix and a site. CheckWord accepts no @, so no
// stream of a store has them.
func Of(prefix, site string) Subjects { return Subjects(prefix + ".@" + site + ".e.") }

// Wild matches any executor.
const Wild = "*"

// Executor returns a subject of an executor.
func (s Subjects) Executor(id string, parts ...string) string {
	return string(s) + Token(id) + "." + strings.Join(parts, ".")
}

// Parts of the subjects of an executor.
const (
	Out = "out" // to any exchange; with the name of an exchange after it, to this one
	In  = "in"  // from the exchange; the id of the session follows
)

// ExecutorOf returns the id of the executor of a subject, or false.
func (s Subjects) ExecutorOf(subject string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(subject, string(s))
	token, _, more := strings.Cut(rest, ".")
	if !ok || !more || token == "" {
		return "", false
	}
	return strings.ReplaceAll(token, "=", "."), true
}

// Token returns the id of an executor as one word of a subject. An id can contain a dot, and never
// contains =.
func Token(id string) string { return strings.ReplaceAll(id, ".", "=") }

// Inbox returns the beginning of the subjects on which an executor gets answers. So the servers can
// keep other executors from reading them.
func Inbox(executor string) string { return "_INBOX." + Token(executor) }
