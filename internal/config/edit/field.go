package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/messkit/messkit/internal/strictyaml"
)

// SetField returns text with one field of a device set to a text, a number or a truth value. nil
// removes the field. The error says why text stays as it is.
func SetField(text []byte, device, key string, value *strictyaml.Value) ([]byte, error) {
	if err := checkScalar(value, section+"."+device+"."+key); err != nil {
		return nil, err
	}
	d, before, err := read(text)
	if err != nil {
		return nil, err
	}
	want := clone(before)
	there := want.Get(section)
	if there == nil || there.Get(device) == nil {
		return nil, fmt.Errorf("devices.%s: there is no such device; reload the page", device)
	}
	if there.Get(device).Kind != strictyaml.Map || d.devices == nil || d.devices.Style&yaml.FlowStyle != 0 {
		return nil, errByHand
	}
	set(there.Get(device), key, value)
	var after []byte
	switch node := child(d.devices, device); {
	case node == nil || node.Kind != yaml.MappingNode || len(node.Content) == 0:
		return nil, errByHand
	case child(node, key) == nil && value == nil:
		return text, nil
	case child(node, key) == nil:
		after, err = d.addField(node, key, value)
	case value == nil:
		after, err = d.removeField(node, key)
	default:
		after, err = d.replaceField(node, key, value)
	}
	if err != nil {
		return nil, err
	}
	return after, verify(text, after, want)
}

// checkScalar returns an error unless a value is a text, a number, a truth value, or nil.
func checkScalar(v *strictyaml.Value, where string) error {
	if v == nil || slices.Contains([]strictyaml.Kind{strictyaml.String, strictyaml.Number, strictyaml.Bool}, v.Kind) {
		return nil
	}
	return fmt.Errorf("%s: this value is a list or a mapping; give a text, a number or a truth value", where)
}

// pair returns a key of a mapping and its value, nil if there is none.
func pair(n *yaml.Node, key string) (k, v *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// child returns the value of a key of a mapping, nil if there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	_, v := pair(n, key)
	return v
}

// scalar returns a value as YAML on one line.
func scalar(v *strictyaml.Value, flow bool) (string, error) {
	if v.Kind != strictyaml.String {
		return v.Text, nil
	}
	text, err := strictyaml.YAML(v)
	s := strings.TrimSpace(string(text))
	if err != nil || strings.Contains(v.Text, "\n") || strings.Contains(s, "\n") {
		return "", errors.New("the text has more than one line; write one line")
	}
	if flow && !strings.HasPrefix(s, `"`) && !strings.HasPrefix(s, "'") && strings.ContainsAny(s, ",[]{}") {
		s = string(strictyaml.JSON(v))
	}
	return s, nil
}

// span returns the line of a scalar, from 0, and its first and last byte there.
func (d *document) span(n *yaml.Node) (line, from, to int, err error) {
	line = n.Line - 1
	if n.Kind != yaml.ScalarNode || line < 0 || line >= len(d.lines) {
		return 0, 0, 0, errByHand
	}
	text := d.lines[line]
	for range n.Column - 1 { // columns count characters
		_, size := utf8.DecodeRuneInString(text[from:])
		from += size
	}
	rest := text[from:]
	switch {
	case strings.HasPrefix(rest, `"`):
		to = endOfQuotes(rest)
	case strings.HasPrefix(rest, "'"):
		to = endOfSingleQuotes(rest)
	case n.Value != "" && strings.HasPrefix(rest, n.Value):
		to = len(n.Value)
	}
	if to == 0 {
		return 0, 0, 0, errByHand
	}
	return line, from, from + to, nil
}

// endOfQuotes returns the length of the text in double quotes at the beginning of s, 0 if it does
// not end there.
func endOfQuotes(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// endOfSingleQuotes is endOfQuotes for single quotes, of which two stand for one.
func endOfSingleQuotes(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '\'':
		case i+1 < len(s) && s[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return 0
}

func (d *document) replaceField(device *yaml.Node, key string, value *strictyaml.Value) ([]byte, error) {
	line, from, to, err := d.span(child(device, key))
	if err != nil {
		return nil, err
	}
	s, err := scalar(value, device.Style&yaml.FlowStyle != 0)
	if err != nil {
		return nil, err
	}
	return d.withLine(line, d.lines[line][:from]+s+d.lines[line][to:]), nil
}

// withLine returns the text with another line in the place of line.
func (d *document) withLine(line int, text string) []byte {
	lines := slices.Clone(d.lines)
	lines[line] = text
	return []byte(strings.Join(lines, ""))
}

// addField adds a field behind the driver of a device, which every device has.
func (d *document) addField(device *yaml.Node, key string, value *strictyaml.Value) ([]byte, error) {
	flow := device.Style&yaml.FlowStyle != 0
	s, err := scalar(value, flow)
	if err != nil {
		return nil, err
	}
	driver := child(device, "driver")
	if driver == nil {
		return nil, errByHand
	}
	line, _, to, err := d.span(driver)
	if err != nil {
		return nil, err
	}
	if flow {
		return d.withLine(line, d.lines[line][:to]+", "+key+": "+s+d.lines[line][to:]), nil
	}
	return d.insert(line+1, []string{strings.Repeat(" ", device.Content[0].Column-1) + key + ": " + s}), nil
}

// removeField removes a field with a value on one line, and keeps the comment behind it.
func (d *document) removeField(device *yaml.Node, key string) ([]byte, error) {
	i := slices.IndexFunc(device.Content, func(n *yaml.Node) bool { return n.Value == key })
	line, _, to, err := d.span(device.Content[i+1])
	if err != nil {
		return nil, err
	}
	at, from, _, err := d.span(device.Content[i])
	if err != nil || at != line {
		return nil, errByHand
	}
	before, after := d.lines[line][:from], d.lines[line][to:]
	if device.Style&yaml.FlowStyle != 0 {
		if trimmed := strings.TrimRight(before, " "); strings.HasSuffix(trimmed, ",") {
			return d.withLine(line, strings.TrimSuffix(trimmed, ",")+after), nil
		}
		return d.withLine(line, before+strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(after, " "), ","), " ")), nil
	}
	if strings.TrimSpace(before) != "" {
		return nil, errByHand
	}
	if comment := strings.TrimSpace(after); comment != "" {
		return d.withLine(line, before+comment+d.newline), nil
	}
	return d.withLine(line, ""), nil
}
