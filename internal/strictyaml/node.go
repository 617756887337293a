package strictyaml

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/order"
)

// Node is a part of a configuration that another package decodes later. A field of this type
// accepts any value.
type Node struct {
	value *Value
	file  string
	path  string
}

// IsZero reports whether the node is absent.
func (n Node) IsZero() bool { return n.value == nil }

// Line returns the first line of the node, or 0 for a node from no file.
func (n Node) Line() int {
	if n.value == nil {
		return 0
	}
	return n.value.Line
}

// Problem makes a problem of this node, of one of its keys, or of a path below it such as
// a.b[2].c.
func (n Node) Problem(key, format string, args ...any) Problem {
	p := Problem{File: n.file, Path: n.path, Text: fmt.Sprintf(format, args...)}
	if n.value != nil {
		p.at(placeOf(n.value, ""))
	}
	if n.value != nil && key != "" {
		_, at := pair(n.value, key)
		if at.line == 0 {
			at = placeOf(n.value, key)
		}
		p.at(at)
	}
	p.Path = join(p.Path, key)
	return p
}

// Under returns the value of a key of a mapping, an absent node without such a key.
func (n Node) Under(key string) Node {
	if n.value != nil && n.value.Kind == Map {
		if v := n.value.Get(key); v != nil {
			return Node{v, n.file, join(n.path, key)}
		}
	}
	return Node{path: join(n.path, key), file: n.file}
}

// File returns the name of the node's file, or "" for none.
func (n Node) File() string { return n.file }

// Replace returns a copy of the mapping n in which with has changed the texts of the keys. It
// ignores missing keys and values that are no texts.
func (n Node) Replace(with func(string) string, keys ...string) Node {
	if n.value == nil || n.value.Kind != Map {
		return n
	}
	v := *n.value
	v.Pairs = slices.Clone(v.Pairs)
	for i, p := range v.Pairs {
		if slices.Contains(keys, p.Key) && p.Value != nil && p.Value.Kind == String {
			one := *p.Value
			one.Text = with(one.Text)
			v.Pairs[i].Value = &one
		}
	}
	return Node{&v, n.file, n.path}
}

// Keys lists the keys of a mapping, in the order written.
func (n Node) Keys() []string {
	if n.value == nil {
		return nil
	}
	keys := make([]string, len(n.value.Pairs))
	for i, p := range n.value.Pairs {
		keys[i] = p.Key
	}
	return keys
}

// Split divides a mapping that two packages read: the keys of the fields of as (a struct), and
// the rest. Another kind of value goes to both, so that both can report it.
func (n Node) Split(as any) (theirs, rest Node) {
	if n.value == nil || n.value.Kind != Map {
		return n, n
	}
	known := fieldsOf(reflect.TypeOf(as))
	a, b := *n.value, *n.value
	a.Pairs, b.Pairs = nil, nil
	for _, p := range n.value.Pairs {
		if slices.ContainsFunc(known, func(f field) bool { return f.name == p.Key }) {
			a.Pairs = append(a.Pairs, p)
		} else {
			b.Pairs = append(b.Pairs, p)
		}
	}
	return Node{&a, n.file, n.path}, Node{&b, n.file, n.path}
}

// Decode reads the node into out, over its present values, as the function Decode does. An
// absent node only validates out.
func (n Node) Decode(out any) error {
	d := newDecoder(n.file)
	v := n.value
	if v == nil {
		v = &Value{Kind: Map}
	}
	d.into(reflect.ValueOf(out).Elem(), v, n.path)
	return d.problems.Err()
}

// From makes the Node of a value from a program.
func From(v *Value, path string) Node { return Node{value: v, path: path} }

// Sum returns a hash of the content. Nodes with equal values have the same hash, independent of
// their place and notation.
func (n Node) Sum() string {
	h := sha256.New()
	n.value.sum(h)
	return hex.EncodeToString(h.Sum(nil))
}

// sum writes a value so that different values have different bytes. The order of a map's keys
// does not count.
func (v *Value) sum(w io.Writer) {
	if v == nil {
		v = &Value{}
	}
	fmt.Fprintf(w, "%d %d:%s %d %d\n", v.Kind, len(v.Text), v.Text, len(v.List), len(v.Pairs))
	for _, one := range v.List {
		one.sum(w)
	}
	pairs := slices.Clone(v.Pairs)
	order.By(pairs, func(a, b Pair) int { return strings.Compare(a.Key, b.Key) })
	for _, p := range pairs {
		fmt.Fprintf(w, "%d:%s ", len(p.Key), p.Key)
		p.Value.sum(w)
	}
}
