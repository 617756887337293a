package mess

import (
	"reflect"

	"github.com/messkit/messkit/internal/strictyaml"
)

// ReadDocument decodes a message from a file that other programs also write. It keeps
// values that do not fit their type: an item as *Other, a field of the message in Extra. It
// returns an error of type Problems only if the document is not a message.
func ReadDocument(v *strictyaml.Value) (Message, error) {
	d := decoder{lenient: true}
	var m Message
	d.message(&m, v)
	return m, d.problems.Err()
}

// Document returns the message as a document.
func (m Message) Document() *strictyaml.Value { return m.write() }

// ReadValue decodes a mapping into a struct with `mess` tags. It keeps values that do not
// fit in the field with the tag "*".
func ReadValue(v *strictyaml.Value, out any) error {
	d := decoder{lenient: true}
	d.into(reflect.ValueOf(out).Elem(), v, "")
	return d.problems.Err()
}

// WriteValue is the inverse of ReadValue.
func WriteValue(x any) *strictyaml.Value { return encode(reflect.ValueOf(x)) }

// try calls read and reports whether the values fit. If not, try drops the recorded
// problems. Only a lenient decoder does that.
func (d *decoder) try(read func()) bool {
	before := len(d.problems)
	read()
	if !d.lenient || len(d.problems) == before {
		return true
	}
	d.problems = d.problems[:before]
	return false
}
