package mess

import (
	"reflect"

	"github.com/messkit/messkit/internal/strictyaml"
)

// listKey is the key of the items of a message (MESS 1.0 section 1).
const listKey = "MESS"

// Parse parses one message in YAML or JSON: a mapping with MESS: and other fields, only the
// list, or a mapping from one message type to its content. It rejects data above 64 KB
// without its data URIs. Errors are of type Problems, without a message. The result is well
// formed; Validate checks its meaning.
func Parse(data []byte) (Message, error) {
	all, err := ParseAll(data)
	if err != nil {
		return Message{}, err
	}
	if len(all) != 1 {
		return Message{}, Problems{{Text: "the text has several documents; send one message at a time"}}
	}
	return all[0], nil
}

// ParseAll parses the messages of a YAML text with several documents, or the message of a
// JSON text.
func ParseAll(data []byte) ([]Message, error) {
	docs, err := strictyaml.Parse(data, strictyaml.Message)
	return read(docs, err, decoder{}, false)
}

// ParseValid parses messages like ParseAll and validates them, so that every problem has a
// line.
func ParseValid(data []byte) ([]Message, error) {
	docs, err := strictyaml.Parse(data, strictyaml.Message)
	return read(docs, err, decoder{}, true)
}

// ParseJSON parses a message that its sender declares as JSON (RFC 8259). It rejects syntax
// that only YAML has, such as a key without quotes, and a number in place of text.
func ParseJSON(data []byte) (Message, error) {
	docs, err := oneJSON(data)
	all, err := read(docs, err, decoder{quoted: true}, false)
	if err != nil {
		return Message{}, err
	}
	return all[0], nil
}

// ParseValidJSON parses a message like ParseJSON and validates it.
func ParseValidJSON(data []byte) (Message, error) {
	docs, err := oneJSON(data)
	all, err := read(docs, err, decoder{quoted: true}, true)
	if err != nil {
		return Message{}, err
	}
	return all[0], nil
}

func read(docs []*node, err error, d decoder, validate bool) ([]Message, error) {
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, Problems{{Text: "it is empty; send a message: MESS: with a list of items"}}
	}
	all := make([]Message, len(docs))
	for i, n := range docs {
		before := len(d.problems)
		d.found = nil
		d.message(&all[i], n)
		if validate && len(d.problems) == before {
			written := &node{Kind: strictyaml.List, Line: n.Line, List: d.found}
			d.problems = append(d.problems, all[i].problems().Locate(written)...)
		}
	}
	if err := d.problems.Err(); err != nil {
		return nil, err
	}
	return all, nil
}

// message decodes a document.
func (d *decoder) message(m *Message, n *node) {
	switch {
	case n.Kind == strictyaml.List:
		d.list(m, n.List)
		return
	case n.Kind != strictyaml.Map:
		d.fail(n, "", "is %s; write MESS: with a list of items", n.Kind)
		return
	}
	list, rest := &node{Kind: strictyaml.List, Line: n.Line}, &node{Kind: strictyaml.Map, Line: n.Line}
	for _, p := range n.Pairs {
		switch {
		case p.Key == listKey && p.Value.Kind == strictyaml.List:
			list.List = append(list.List, p.Value.List...)
		case p.Key == listKey && p.Value.Kind == strictyaml.Map:
			list.List = append(list.List, p.Value)
		case p.Key == listKey:
			d.fail(p.Value, listKey, "is %s; write a list of items", p.Value.Kind)
		case n.Get(listKey) == nil && (p.Key == "v" || newItem(Kind(p.Key)) != nil):
			list.List = append(list.List, &node{Kind: strictyaml.Map, Line: p.Line, Pairs: []strictyaml.Pair{p}})
		default:
			rest.Pairs = append(rest.Pairs, p)
		}
	}
	if n.Get(listKey) == nil && len(list.List) == 0 {
		d.fail(n, "", "the text has no message; write MESS: with a list of items")
		return
	}
	d.fields(reflect.ValueOf(m).Elem(), rest, "")
	d.list(m, list.List)
}

// write returns the message as a document.
func (m *Message) write() *node {
	n := &node{Kind: strictyaml.Map}
	c := *m
	c.Extra = nil
	addFields(n, reflect.ValueOf(&c).Elem())
	n.Add(listKey, m.writeList())
	addObject(n, m.Extra)
	return n
}

// writeList returns the list of a message.
func (m *Message) writeList() *node {
	list := &node{Kind: strictyaml.List, List: make([]*node, 0, len(m.Items)+1)}
	if m.Version != "" {
		list.List = append(list.List, writeVersion(m.Version))
	}
	for _, item := range m.Items {
		list.List = append(list.List, writeItem(item))
	}
	return list
}

func (m *Message) read(d *decoder, n *node, _ string) { d.message(m, n) }

func writeVersion(v string) *node {
	n := &node{Kind: strictyaml.Map}
	n.Add("v", strictyaml.Str(v))
	return n
}

// YAML prints the message as a document of a thread.
func (m Message) YAML() ([]byte, error) { return strictyaml.YAML(m.write()) }

// JSON prints the message on one line.
func (m Message) JSON() ([]byte, error) { return strictyaml.JSON(m.write()), nil }

// ListJSON prints only the items, as other HTTP servers do.
func (m Message) ListJSON() []byte { return strictyaml.JSON(m.writeList()) }

// YAMLAll prints messages as the documents of one text.
func YAMLAll(all []Message) ([]byte, error) {
	docs := make([]*node, len(all))
	for i := range all {
		docs[i] = all[i].write()
	}
	return strictyaml.YAML(docs...)
}

// ParseObject parses one mapping in YAML or JSON, with the limits of a message.
func ParseObject(data []byte) (Object, error) {
	docs, err := strictyaml.Parse(data, strictyaml.Message)
	return readObject(docs, err)
}

// ParseObjectJSON parses one mapping that its sender declares as JSON, like ParseValidJSON.
func ParseObjectJSON(data []byte) (Object, error) {
	docs, err := oneJSON(data)
	return readObject(docs, err)
}

func readObject(docs []*node, err error) (Object, error) {
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return Object{}, nil
	}
	if n := docs[0]; len(docs) == 1 && n.Kind == strictyaml.Map {
		return object(n), nil
	}
	return nil, Problems{{Line: docs[0].Line, Text: "is not one mapping; send one"}}
}

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
