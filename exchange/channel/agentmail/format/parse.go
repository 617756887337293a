package format

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
)

// maxID is the size limit of a message_id in bytes.
const maxID = 128

// Parse parses the body of a mail: a JSON message, alone or as the only JSON block in a text. The
// error is an *Invalid, and the message is then empty.
func Parse(body string, mail Mail, p Profile) (Message, error) {
	bad := &Invalid{Code: CodeInvalidFormat, Type: typeIn(mail.Subject), TaskID: mail.ThreadID, MessageID: mail.ID}
	block, ok := unfenced(body)
	if !ok {
		return Message{}, bad.because("the body is not one message in JSON")
	}
	v, err := strictyaml.ParseJSON([]byte(block), strictyaml.Message)
	if err != nil {
		return Message{}, bad.because(err.Error())
	}
	if v.Kind != strictyaml.Map {
		return Message{}, bad.because("the body is not an object")
	}
	bad.about(v)
	if p == Lenient {
		fill(v, mail)
	}
	m, err := read(v, bad, p)
	if err != nil {
		return Message{}, err
	}
	if mail.From != "" && !strings.EqualFold(mail.From, m.SenderID) {
		bad.Code = CodeSenderMismatch
		return Message{}, bad.because(fmt.Sprintf("sender_id %.60q is not who has sent the mail, %.60q", m.SenderID, mail.From))
	}
	return m, nil
}

// read validates and decodes an object.
func read(v *strictyaml.Value, bad *Invalid, p Profile) (Message, error) {
	if t, _ := find(v, "type"); t == nil || t.Kind != strictyaml.String || t.Text == "" {
		return Message{}, bad.because("Missing required field: type")
	}
	table := tables[bad.Type]
	if table == nil {
		bad.Code = CodeUnknownType
		return Message{}, bad.because(fmt.Sprintf("type %.60q is unknown; known types: %s", bad.Type, typeNames))
	}
	if err := bad.version(v); err != nil {
		return Message{}, err
	}
	wrong := append(check(v, common, p), check(v, table, p)...)
	if len(bad.MessageID) > maxID {
		wrong = append(wrong, fmt.Sprintf("Field message_id: is longer than %d bytes", maxID))
	}
	if len(wrong) > 0 {
		return Message{}, bad.because(strings.Join(wrong, "; "))
	}
	m := Message{Body: newBody(bad.Type)}
	head, rest := parts(v)
	if p == Lenient {
		rest.Pairs = whole(rest, table)
	}
	if err := errors.Join(mess.ReadValue(head, &m), readBody(rest, m.Body)); err != nil {
		return Message{}, bad.because(err.Error())
	}
	note, text := resolveAmbiguity(m.Body, p)
	if text != "" {
		return Message{}, bad.because(text)
	}
	if note != "" {
		m.Notes = []string{note}
	}
	return m, nil
}

// parts splits an object into the common fields and the rest.
func parts(v *strictyaml.Value) (head, rest *strictyaml.Value) {
	head, rest = &strictyaml.Value{Kind: strictyaml.Map}, &strictyaml.Value{Kind: strictyaml.Map}
	for _, p := range v.Pairs {
		switch p.Key {
		case "version", "timestamp", "sender_id", "message_id", "type":
			head.Pairs = append(head.Pairs, p)
		default:
			rest.Pairs = append(rest.Pairs, p)
		}
	}
	return head, rest
}

func readBody(v *strictyaml.Value, b Body) error {
	switch b := b.(type) {
	case *TaskAssignment:
		return mess.ReadValue(v, b)
	case *TaskCompletion:
		return mess.ReadValue(v, b)
	case *ErrorReport:
		return mess.ReadValue(v, b)
	case *StatusUpdate:
		return mess.ReadValue(v, b)
	case *CoordinationRequest:
		return mess.ReadValue(v, b)
	case *FileReservation:
		return mess.ReadValue(v, b)
	}
	return fmt.Errorf("no message has a body of type %T", b)
}

// resolveAmbiguity decides what the specification says in two ways. note describes the
// interpretation; wrong says why the message is invalid.
func resolveAmbiguity(b Body, p Profile) (note, wrong string) {
	switch b := b.(type) {
	case *TaskAssignment:
		if p == Strict && b.PriorityValue != b.Priority.Value() {
			return "", fmt.Sprintf("priority_value mismatch: %s is %g, not %g", b.Priority, b.Priority.Value(), b.PriorityValue)
		}
		if b.PriorityValue != b.Priority.Value() {
			note = fmt.Sprintf("priority %s counts, and not priority_value %g", b.Priority, b.PriorityValue)
		}
		b.PriorityValue = b.Priority.Value() // the name of the priority wins
	case *FileReservation:
		return b.resolveAmbiguity()
	}
	return note, ""
}

// resolveAmbiguity accepts shared as shared_read, and validates the alternatives, for which the
// specification has no table.
func (f *FileReservation) resolveAmbiguity() (note, wrong string) {
	all := []*Mode{&f.Request.Mode}
	for i := range f.Alternatives {
		a := &f.Alternatives[i]
		switch {
		case a.Pattern == "":
			return "", fmt.Sprintf("Missing required field: alternatives[%d].pattern", i)
		case !slices.Contains(modes, string(a.Mode)):
			return "", fmt.Sprintf("Field alternatives[%d].mode: %.60q is not one of %s", i, a.Mode, strings.Join(modes, ", "))
		}
		all = append(all, &a.Mode)
	}
	for _, m := range all {
		if *m == shared {
			*m, note = SharedRead, "mode shared counts as shared_read"
		}
	}
	return note, ""
}

// fill adds missing fields from the mail.
func fill(v *strictyaml.Value, mail Mail) {
	for _, one := range []struct{ key, value string }{
		{"version", Version},
		{"timestamp", string(mess.TimeOf(mail.Created.UTC()))},
		{"sender_id", mail.From},
		{"message_id", cmp.Or(mail.ID, "unknown")},
	} {
		if one.value != "" && printable(one.value) && v.Get(one.key) == nil {
			v.Add(one.key, strictyaml.Str(one.value))
		}
	}
}

// printable reports whether a text contains only printable characters.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

var (
	fence = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("(?s)```(?:json|JSON)?[ \t]*\r?\n(.*?)\r?\n?```")
	})
	subject = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(?:[Rr][Ee]:\s*)*\[([a-z_]+)\]`) })
)

// unfenced returns the JSON in a body: the whole body, or its only block.
func unfenced(body string) (string, bool) {
	body = strings.TrimSpace(body)
	if strings.HasPrefix(body, "{") {
		return body, true
	}
	blocks := fence().FindAllStringSubmatch(body, 2)
	if len(blocks) != 1 {
		return "", false
	}
	return blocks[0][1], true
}

// typeIn returns the type in the subject of a mail, "" if there is none.
func typeIn(s string) Type {
	if m := subject().FindStringSubmatch(s); m != nil && newBody(Type(m[1])) != nil {
		return Type(m[1])
	}
	return ""
}

// Plain reports whether a body is plain text without a JSON message.
func Plain(body string) bool {
	_, ok := unfenced(body)
	return !ok
}
