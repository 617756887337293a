package mess

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/strictyaml"
)

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
