// Package edit changes the text of a configuration file, and keeps its comments, its order and its
// layout. It reads positions with a YAML parser, changes only the text of one value, and checks the
// result: a change that would alter anything else is an error.
package edit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/messkit/messkit/internal/strictyaml"
)

// section is the key of the devices.
const section = "devices"

// errByHand reports a text that this package cannot change without a risk for the rest of it.
var errByHand = errors.New("messkit cannot change this layout without a risk; edit the configuration by hand")

// document is a configuration with the positions of its parts.
type document struct {
	lines   []string // with their line ends
	newline string
	root    *yaml.Node // nil: the text has no value
	devices *yaml.Node // nil: there is no section, or it is empty
	key     *yaml.Node // the key of devices; nil: there is none
	next    int        // line of the key after devices, from 1; behind the last line if there is none
}

// read parses a text. Its errors are those of strictyaml.Parse.
func read(text []byte) (*document, *strictyaml.Value, error) {
	value, err := parse(text)
	if err != nil {
		return nil, nil, err
	}
	d := &document{lines: slices.Collect(strings.Lines(string(text))), newline: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		d.newline = "\r\n"
	}
	d.next = len(d.lines) + 1
	if len(value.Pairs) == 0 {
		return d, value, nil
	}
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil || len(n.Content) == 0 {
		return nil, nil, errByHand
	}
	if d.root = n.Content[0]; d.root.Style&yaml.FlowStyle != 0 {
		return nil, nil, errByHand
	}
	for i := 0; i+1 < len(d.root.Content); i += 2 {
		if d.root.Content[i].Value != section {
			continue
		}
		d.key = d.root.Content[i]
		if v := d.root.Content[i+1]; v.Kind == yaml.MappingNode {
			d.devices = v
		}
		if i+2 < len(d.root.Content) {
			d.next = d.root.Content[i+2].Line
		}
	}
	return d, value, nil
}

// parse returns the value of a text, an empty mapping if the text has none.
func parse(text []byte) (*strictyaml.Value, error) {
	docs, err := strictyaml.Parse(text, strictyaml.Config)
	switch {
	case err != nil:
		return nil, err
	case len(docs) == 0:
		return &strictyaml.Value{Kind: strictyaml.Map}, nil
	case len(docs) > 1 || docs[0].Kind != strictyaml.Map:
		return nil, errByHand
	}
	return docs[0], nil
}

// AddDevice returns text with one more device at the end of its devices. A comment that is not empty
// stands above it. block holds the keys of the device. The error says why text stays as
// it is: it is not valid, it has a device of that name, or its layout does not allow the change.
func AddDevice(text []byte, name string, block *strictyaml.Value, comment string) ([]byte, error) {
	d, before, err := read(text)
	if err != nil {
		return nil, err
	}
	if devices := before.Get(section); devices != nil && devices.Get(name) != nil {
		return nil, fmt.Errorf("devices.%s: exists already; choose another name", name)
	}
	indent, at, err := d.insertion()
	if err != nil {
		return nil, err
	}
	one := &strictyaml.Value{Kind: strictyaml.Map}
	one.Add(name, block)
	yamlText, err := strictyaml.YAML(one)
	if err != nil {
		return nil, err
	}
	var added []string
	if d.key == nil {
		added = append(added, section+":")
	}
	if comment = strings.Join(strings.Fields(comment), " "); comment != "" {
		added = append(added, indent+"# "+comment)
	}
	for line := range strings.Lines(string(yamlText)) {
		added = append(added, strings.TrimRight(indent+strings.TrimRight(line, "\n"), " "))
	}
	if d.key == nil && len(d.lines) > 0 && strings.TrimSpace(d.lines[at-1]) != "" {
		added = append([]string{""}, added...) // sets the section apart
	}
	after := d.insert(at, added)
	want := clone(before)
	if want.Get(section) == nil || want.Get(section).Kind != strictyaml.Map {
		set(want, section, &strictyaml.Value{Kind: strictyaml.Map})
	}
	want.Get(section).Add(name, block)
	return after, verify(text, after, want)
}

// insertion returns the indentation of a new device and the number of lines before it.
func (d *document) insertion() (indent string, at int, err error) {
	switch {
	case d.key == nil:
		return "  ", len(d.lines), nil
	case d.devices == nil || len(d.devices.Content) == 0:
		line := d.lines[d.key.Line-1]
		if rest := strings.TrimSpace(strings.TrimPrefix(line, section+":")); rest != "" && !strings.HasPrefix(rest, "#") {
			return "", 0, errByHand // devices: {}
		}
		return "  ", d.key.Line, nil
	case d.devices.Style&yaml.FlowStyle != 0:
		return "", 0, errByHand
	}
	column := d.devices.Content[0].Column
	at = d.next - 1
	for at > d.key.Line && isBlankOrComment(d.lines[at-1]) {
		at--
	}
	for at < d.next-1 && isComment(d.lines[at]) && indentOf(d.lines[at]) >= column-1 {
		at++ // comments of the last device
	}
	return strings.Repeat(" ", column-1), at, nil
}

// insert returns the text with more lines behind its first at lines.
func (d *document) insert(at int, lines []string) []byte {
	var b strings.Builder
	for _, line := range d.lines[:at] {
		b.WriteString(line)
	}
	if at > 0 && !strings.HasSuffix(d.lines[at-1], "\n") {
		b.WriteString(d.newline)
	}
	for _, line := range lines {
		b.WriteString(line + d.newline)
	}
	for _, line := range d.lines[at:] {
		b.WriteString(line)
	}
	return []byte(b.String())
}

func isComment(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "#") }

func isBlankOrComment(line string) bool { return strings.TrimSpace(line) == "" || isComment(line) }

// indentOf returns the number of spaces at the beginning of a line.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// verify returns an error unless after has the value want and all comments of before.
func verify(before, after []byte, want *strictyaml.Value) error {
	got, err := parse(after)
	if err != nil || strictyaml.From(got, "").Sum() != strictyaml.From(want, "").Sum() || !slices.Equal(comments(before), without(comments(after), comments(before))) {
		return errByHand
	}
	return nil
}

// comments returns all comments of a text in order.
func comments(text []byte) (list []string) {
	var n yaml.Node
	if yaml.Unmarshal(text, &n) != nil {
		return nil
	}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for _, one := range []string{n.HeadComment, n.LineComment, n.FootComment} {
			for line := range strings.Lines(one) {
				if line = strings.TrimSpace(line); line != "" {
					list = append(list, line)
				}
			}
		}
		for _, one := range n.Content {
			walk(one)
		}
	}
	walk(&n)
	slices.Sort(list) // a comment may belong to another part afterwards
	return list
}

// without returns the elements of all that keep has, each as often as keep has it. Both are sorted.
func without(all, keep []string) (list []string) {
	for _, one := range all {
		if len(list) < len(keep) && keep[len(list)] == one {
			list = append(list, one)
		}
	}
	return list
}

// clone returns a copy of a value that shares no mapping with it.
func clone(v *strictyaml.Value) *strictyaml.Value {
	c := *v
	c.Pairs = slices.Clone(v.Pairs)
	for i, p := range c.Pairs {
		if p.Value != nil {
			c.Pairs[i].Value = clone(p.Value)
		}
	}
	return &c
}

// set sets a key of a mapping; nil removes it.
func set(v *strictyaml.Value, key string, to *strictyaml.Value) {
	i := slices.IndexFunc(v.Pairs, func(p strictyaml.Pair) bool { return p.Key == key })
	switch {
	case i < 0 && to != nil:
		v.Add(key, to)
	case i >= 0 && to == nil:
		v.Pairs = slices.Delete(v.Pairs, i, i+1)
	case i >= 0:
		v.Pairs[i].Value = to
	}
}
