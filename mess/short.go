package mess

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/strictyaml"
)

// Types with a short and a long form keep the form as written, while their content fits it.

func (r *Refs) read(d *decoder, n *node, path string) {
	var list []string
	v := reflect.ValueOf(&list).Elem()
	d.items(v, n, path)
	*r = list
}

func (r *Refs) write() *node {
	if len(*r) == 1 {
		return strictyaml.Str((*r)[0])
	}
	return encodeKind(reflect.ValueOf([]string(*r)))
}

func (o *Object) read(d *decoder, n *node, path string) {
	if d.want(n, strictyaml.Map, path) {
		*o = object(n)
	}
}

func (o *Object) write() *node {
	n := &node{Kind: strictyaml.Map}
	addObject(n, *o)
	return n
}

// one decodes text, or a mapping with one key: a name with details.
func one(d *decoder, n *node, path, what string) (name string, about *node) {
	switch {
	case n.Kind == strictyaml.String:
		return n.Text, nil
	case n.Kind == strictyaml.Number: // YAML decodes a name of digits as a number
		d.fail(n, path, "is a number; write text, with quotes for a name")
		return "", nil
	case n.Kind == strictyaml.Map && len(n.Pairs) == 1:
		return n.Pairs[0].Key, n.Pairs[0].Value
	}
	d.fail(n, path, "is not %s; write its name, or a mapping from its name to its details", what)
	return "", nil
}

func (c *Capability) read(d *decoder, n *node, path string) {
	id, meta := one(d, n, path, "a capability")
	*c = Capability{ID: id}
	if meta != nil {
		c.Meta = plain(meta)
	}
}

func (c *Capability) write() *node { return named(c.ID, c.Meta) }

func (h *ResponseHint) read(d *decoder, n *node, path string) {
	t, spec := one(d, n, path, "a type of content")
	*h = ResponseHint{Type: t}
	if spec != nil {
		h.Spec = plain(spec)
	}
}

func (h *ResponseHint) write() *node { return named(h.Type, h.Spec) }

func named(name string, about any) *node {
	if about == nil {
		return strictyaml.Str(name)
	}
	n := &node{Kind: strictyaml.Map}
	n.Add(name, encode(reflect.ValueOf(about)))
	return n
}

func (a *TargetArea) read(d *decoder, n *node, path string) {
	*a = TargetArea{}
	if n.Kind == strictyaml.String {
		a.Name = n.Text
		return
	}
	d.fields(reflect.ValueOf(a).Elem(), n, path)
}

func (a *TargetArea) write() *node {
	if a.Name != "" {
		return strictyaml.Str(a.Name)
	}
	n := &node{Kind: strictyaml.Map}
	addFields(n, reflect.ValueOf(a).Elem())
	return n
}

func (r *Reason) read(d *decoder, n *node, path string) {
	*r = Reason{}
	if n.Kind == strictyaml.String || n.Kind == strictyaml.Number && !d.quoted {
		r.Detail = n.Text
		return
	}
	d.fields(reflect.ValueOf(r).Elem(), n, path)
}

func (r *Reason) write() *node {
	if r.Type == "" && r.Effect == "" && len(r.Extra) == 0 {
		return strictyaml.Str(r.Detail)
	}
	n := &node{Kind: strictyaml.Map}
	addFields(n, reflect.ValueOf(r).Elem())
	return n
}

// read accepts a stop with an invalid reason, or with invalid fields that the exchange sets
// itself, because they must not prevent the stop.
func (s *Stop) read(d *decoder, n *node, path string) {
	*s = Stop{}
	if n.Kind == strictyaml.Map {
		c := *n
		c.Pairs = slices.Clone(n.Pairs)
		for i, p := range c.Pairs {
			words := slices.Contains([]string{"why", "id", "by", "at"}, p.Key)
			if words && p.Value.Kind != strictyaml.String && p.Value.Kind != strictyaml.Null {
				c.Pairs[i].Value = strictyaml.Str(string(strictyaml.JSON(p.Value)))
			}
		}
		n = &c
	}
	d.fields(reflect.ValueOf(s).Elem(), n, path)
}

func (s *Stop) write() *node {
	n := &node{Kind: strictyaml.Map}
	addFields(n, reflect.ValueOf(s).Elem())
	return n
}

func (h *DrainOrder) read(d *decoder, n *node, path string) {
	*h = DrainOrder{}
	if n.Kind != strictyaml.Bool {
		d.fields(reflect.ValueOf(h).Elem(), n, path)
	} else if n.Text != "true" {
		d.fail(n, path, "is false; use resume: true to end a drain")
	}
}

func (h *DrainOrder) write() *node {
	n := &node{Kind: strictyaml.Map}
	if addFields(n, reflect.ValueOf(h).Elem()); len(n.Pairs) == 0 {
		return strictyaml.Truth(true)
	}
	return n
}

func (e *Entry) read(_ *decoder, n *node, _ string) {
	*e = Entry{}
	if n.Kind != strictyaml.Map {
		e.Value = plain(n)
		return
	}
	t := max(0, slices.IndexFunc(n.Pairs, func(p strictyaml.Pair) bool { return slices.Contains(entryTypes, p.Key) }))
	for i, p := range n.Pairs {
		if i == t {
			e.Type, e.Value = p.Key, plain(p.Value)
		} else {
			e.Extra = append(e.Extra, Field{p.Key, plain(p.Value)})
		}
	}
	if e.Type == "" { // it has no type, and remains unchanged
		*e = Entry{Value: object(n)}
	}
}

func (e *Entry) write() *node {
	if e.Type == "" {
		return encode(reflect.ValueOf(e.Value))
	}
	n := &node{Kind: strictyaml.Map}
	n.Add(e.Type, encode(reflect.ValueOf(e.Value)))
	addObject(n, e.Extra)
	return n
}

// item decodes the payload of one item.
func (d *decoder) item(kind Kind, n *node, path string) Item {
	item := newItem(kind)
	if item == nil {
		return &Other{Type: kind, Value: plain(n)}
	}
	if n.Kind != strictyaml.Map && n.Kind != strictyaml.Null {
		d.fail(n, path, "is %s; write a mapping", n.Kind)
		return item
	}
	d.into(reflect.ValueOf(item).Elem(), n, path)
	return item
}

// newItem returns an empty item, or nil for an unknown kind.
func newItem(kind Kind) Item {
	switch kind {
	case KindRequest:
		return &Request{}
	case KindReply:
		return &Reply{}
	case KindAnswer:
		return &Answer{}
	case KindCancel:
		return &Cancel{}
	case KindQuery:
		return &Query{}
	case KindConfig:
		return &Config{}
	case KindAck:
		return &Ack{}
	case KindStatus:
		return &Status{}
	case KindResponse:
		return &Response{}
	case KindSuggestion:
		return &Suggestion{}
	}
	return nil
}

func writeItem(item Item) *node {
	n := &node{Kind: strictyaml.Map}
	if o, ok := item.(*Other); ok {
		n.Add(string(o.Type), encode(reflect.ValueOf(o.Value)))
		return n
	}
	n.Add(string(item.Kind()), encode(reflect.ValueOf(item)))
	return n
}

// list decodes the items of a message.
func (d *decoder) list(m *Message, list []*node) {
	for i, n := range list {
		path := fmt.Sprintf("[%d]", i)
		if n.Kind != strictyaml.Map || len(n.Pairs) == 0 {
			d.fail(n, path, "is %s; write a mapping from a message type (request, status, ...) to its content", n.Kind)
			continue
		}
		for _, p := range n.Pairs {
			d.element(m, p, path+"."+p.Key)
		}
	}
}

// element decodes one item, or the version.
func (d *decoder) element(m *Message, p strictyaml.Pair, path string) {
	if p.Key != "v" {
		var item Item
		if !d.try(func() { item = d.item(Kind(p.Key), p.Value, path) }) {
			item = &Other{Type: Kind(p.Key), Value: plain(p.Value)}
		}
		m.Items = append(m.Items, item)
		d.found = append(d.found, &node{Kind: strictyaml.Map, Line: p.Line, Pairs: []strictyaml.Pair{p}})
		return
	}
	d.into(reflect.ValueOf(&m.Version).Elem(), p.Value, path)
}

// LongText is the size limit for a text in a message, in bytes. In JSON, a longer text in
// context or content becomes a file.
const LongText = 64 << 10

// oneJSON decodes one JSON text and converts its long texts to files.
func oneJSON(data []byte) ([]*node, error) {
	limits := strictyaml.Message
	limits.Text = LongText
	v, err := strictyaml.ParseJSON(data, limits)
	if err == nil && len(data) > LongText {
		var d decoder
		d.long(v, "")
		err = d.problems.Err()
	}
	return []*node{v}, err
}

// long converts long texts in content to files, and rejects others.
func (d *decoder) long(n *node, path string) {
	switch n.Kind {
	case strictyaml.String:
		if strictyaml.Apart([]byte(n.Text)) > LongText {
			d.fail(n, path, "%d bytes are too many for a text; the limit is %d: put it into context or content, or attach a file", len(n.Text), LongText)
		}
	case strictyaml.List:
		for _, one := range n.List {
			d.long(one, path)
		}
	case strictyaml.Map:
		for _, p := range n.Pairs {
			if len(p.Key) > LongText {
				d.fail(n, path, "%d bytes are too many for a key; the limit is %d", len(p.Key), LongText)
				continue
			}
			if p.Key == "context" || p.Key == "content" && strings.HasSuffix(path, string(KindResponse)) {
				filed(p.Value)
			}
			d.long(p.Value, strings.TrimPrefix(path+"."+p.Key, "."))
		}
	}
}

// filed converts each long text in a list of content to a file.
func filed(list *node) {
	entries := list.List
	if list.Kind != strictyaml.List {
		entries = []*node{list}
	}
	for _, e := range entries {
		text := e
		i := slices.IndexFunc(e.Pairs, func(p strictyaml.Pair) bool { return p.Key == "text" })
		if i >= 0 {
			text = e.Pairs[i].Value
		}
		if text.Kind != strictyaml.String || strictyaml.Apart([]byte(text.Text)) <= LongText {
			continue
		}
		file := &node{Kind: strictyaml.Map, Line: text.Line}
		file.Add("uri", strictyaml.Str(DataURI("text/plain;charset=utf-8", []byte(text.Text))))
		file.Add("name", strictyaml.Str("text.txt"))
		if i < 0 {
			*e = node{Kind: strictyaml.Map, Line: e.Line}
			e.Add("file", file)
			continue
		}
		e.Pairs[i].Key, e.Pairs[i].Value = "file", file
	}
}
