package mess

import (
	"reflect"

	"github.com/messkit/messkit/internal/strictyaml"
)

// ReadDocument reads a message as it stands in a file that others write too.
// What does not fit its type is kept as it was written: an item as *Other, a
// field of the message in Extra. Only what is no message at all is an error,
// of type Problems.
func ReadDocument(v *strictyaml.Value) (Message, error) {
	d := decoder{lenient: true}
	var m Message
	d.message(&m, v)
	return m, d.problems.Err()
}

// Document is the message as a document.
func (m Message) Document() *strictyaml.Value { return m.write() }

// ReadValue reads a mapping into a struct with `mess` tags. What does not fit
// is kept in the field tagged "*".
func ReadValue(v *strictyaml.Value, out any) error {
	d := decoder{lenient: true}
	d.into(reflect.ValueOf(out).Elem(), v, "")
	return d.problems.Err()
}

// WriteValue is the inverse of ReadValue.
func WriteValue(x any) *strictyaml.Value { return encode(reflect.ValueOf(x)) }

// try runs read and reports whether what was read fits; if not, what it noted
// is forgotten. Only a lenient decoder forgets.
func (d *decoder) try(read func()) bool {
	before := len(d.problems)
	read()
	if !d.lenient || len(d.problems) == before {
		return true
	}
	d.problems = d.problems[:before]
	return false
}
