package format

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/cleantext"
	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
)

// JSON encodes a message, and escapes invisible characters. It returns an error if the message
// does not follow the specification.
func (m Message) JSON() ([]byte, error) {
	if m.Body == nil || m.Body.Type() != m.Type {
		return nil, fmt.Errorf("agentmail: a message of type %q has a body of another", m.Type)
	}
	if f, ok := m.Body.(*FileReservation); ok {
		if _, wrong := (&FileReservation{Request: f.Request, Alternatives: slices.Clone(f.Alternatives)}).resolveAmbiguity(); wrong != "" || f.hasShared() {
			return nil, fmt.Errorf("agentmail: %s: %s", m.Type, cmp.Or(wrong, "messkit reads mode shared, and never writes it"))
		}
	}
	v := mess.WriteValue(m)
	v.Pairs = append(v.Pairs, whole(mess.WriteValue(m.Body), tables[m.Type])...)
	if wrong := append(check(v, common, Strict), check(v, tables[m.Type], Strict)...); len(wrong) > 0 {
		return nil, fmt.Errorf("agentmail: %s: %s", m.Type, strings.Join(wrong, "; "))
	}
	return cleantext.EscapeJSON(strictyaml.JSON(v)), nil
}

// hasShared reports whether a mode is shared.
func (f *FileReservation) hasShared() bool {
	return f.Request.Mode == shared || slices.ContainsFunc(f.Alternatives, func(a Alternative) bool { return a.Mode == shared })
}

// whole adds empty values for required fields.
func whole(v *strictyaml.Value, table []field) []strictyaml.Pair {
	for _, f := range table {
		at, there := find(v, f.path)
		if f.need == optional || !there || at != nil && at.Kind != strictyaml.Null {
			continue
		}
		parent, key := v, f.path
		if i := strings.LastIndexByte(f.path, '.'); i >= 0 {
			parent, _ = find(v, f.path[:i])
			key = f.path[i+1:]
		}
		if empty := f.empty(); empty != nil {
			parent.Pairs = slices.DeleteFunc(slices.Clone(parent.Pairs), func(p strictyaml.Pair) bool { return p.Key == key })
			parent.Add(key, empty)
		}
	}
	return slices.Clip(v.Pairs)
}

// empty returns the empty value of a field, nil if it has none.
func (f field) empty() *strictyaml.Value {
	switch f.kind {
	case words:
		return strictyaml.Str("")
	case number:
		return strictyaml.Num("0")
	case truth:
		return strictyaml.Truth(false)
	case list, texts, objects:
		return &strictyaml.Value{Kind: strictyaml.List}
	case object:
		return &strictyaml.Value{Kind: strictyaml.Map}
	}
	return nil
}
