package mess

import (
	"reflect"

	"github.com/messkit/messkit/internal/strictyaml"
)

// list is the key of a message's items (MESS 1.0 section 1).
const listKey = "MESS"

// Parse reads one message in YAML or JSON: a mapping with MESS: and fields
// beside it, the list alone, or a mapping from one message type to its content.
// Data larger than 64 KB apart from data URIs is refused. The error is of type
// Problems, and then there is no message. What Parse gives is well formed; ask
// Validate whether it makes sense.
func Parse(data []byte) (Message, error) {
	all, err := ParseAll(data)
	if err != nil {
		return Message{}, err
	}
	if len(all) != 1 {
		return Message{}, Problems{{Text: "there are several documents; send one message at a time"}}
	}
	return all[0], nil
}

// ParseAll reads the messages of a YAML text with several documents, or the one
// of a JSON text.
func ParseAll(data []byte) ([]Message, error) {
	docs, err := strictyaml.Parse(data, strictyaml.Message)
	return read(docs, err, decoder{}, false)
}

// ParseValid reads messages as ParseAll does and validates them, so that every
// problem is told with its line.
func ParseValid(data []byte) ([]Message, error) {
	docs, err := strictyaml.Parse(data, strictyaml.Message)
	return read(docs, err, decoder{}, true)
}

// ParseJSON reads a message of which its sender says that it is JSON (RFC 8259).
// What is YAML alone, such as a key without quotes, is refused, and so is a number
// where text is wanted.
func ParseJSON(data []byte) (Message, error) {
	docs, err := oneJSON(data)
	all, err := read(docs, err, decoder{quoted: true}, false)
	if err != nil {
		return Message{}, err
	}
	return all[0], nil
}

// ParseValidJSON reads a message as ParseJSON does and validates it.
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

// message reads a document.
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
		d.fail(n, "", "there is no message in it; write MESS: with a list of items")
		return
	}
	d.fields(reflect.ValueOf(m).Elem(), rest, "")
	d.list(m, list.List)
}

// write is the message as a document.
func (m *Message) write() *node {
	n := &node{Kind: strictyaml.Map}
	c := *m
	c.Extra = nil
	addFields(n, reflect.ValueOf(&c).Elem())
	n.Add(listKey, m.writeList())
	addObject(n, m.Extra)
	return n
}

// writeList is the list of a message.
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

// ListJSON prints the items alone, as the field's HTTP servers have them.
func (m Message) ListJSON() []byte { return strictyaml.JSON(m.writeList()) }

// YAMLAll prints messages as the documents of one text.
func YAMLAll(all []Message) ([]byte, error) {
	docs := make([]*node, len(all))
	for i := range all {
		docs[i] = all[i].write()
	}
	return strictyaml.YAML(docs...)
}

// ParseObject reads one mapping in YAML or JSON, within the limits of a message.
func ParseObject(data []byte) (Object, error) {
	docs, err := strictyaml.Parse(data, strictyaml.Message)
	return readObject(docs, err)
}

// ParseObjectJSON reads one mapping of which its sender says that it is JSON, as
// ParseValidJSON does.
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
