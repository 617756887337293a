package edit

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/messkit/messkit/internal/strictyaml"
)

// SetSetting returns text with a setting outside of devices set to a text, a number or a truth value.
// path has its keys, such as agent, limits, quiet_hours; missing mappings are added. nil removes the
// setting, and the mappings that have nothing else. The error says why text stays as it is.
func SetSetting(text []byte, path []string, value *strictyaml.Value) ([]byte, error) {
	if err := checkScalar(value, strings.Join(path, ".")); err != nil {
		return nil, err
	}
	d, before, err := read(text)
	if err != nil {
		return nil, err
	}
	found := d.descend(path) // mappings from the top to the one that has, or would have, the next key
	last := found[len(found)-1]
	is := len(found) == len(path) && last != nil && child(last, path[len(path)-1]) != nil
	want := clone(before)
	var after []byte
	switch {
	case !is && value == nil:
		return text, nil
	case !is:
		setIn(want, path, value)
		after, err = d.addSetting(found, path, value)
	case value != nil:
		setIn(want, path, value)
		after, err = d.replaceField(last, path[len(path)-1], value)
	default:
		keep := len(path) - 1
		for keep > 0 && len(found[keep].Content) == 2 { // the key is the only one
			keep--
		}
		setIn(want, path[:keep+1], nil)
		after, err = d.removeLines(found[keep:], path[keep:])
	}
	if err != nil {
		return nil, err
	}
	return after, verify(text, after, want)
}

// descend returns the mappings along a path, the whole text first. The last one does not have the
// next key as a mapping. A text or a mapping without a value is nil.
func (d *document) descend(path []string) []*yaml.Node {
	found := []*yaml.Node{d.root}
	for _, key := range path[:len(path)-1] {
		n := found[len(found)-1]
		if n == nil || child(n, key) == nil {
			break
		}
		if n = child(n, key); n.Kind != yaml.MappingNode {
			n = nil
		}
		found = append(found, n)
	}
	return found
}

// setIn sets a value at the end of a path; nil removes it.
func setIn(v *strictyaml.Value, path []string, to *strictyaml.Value) {
	for _, key := range path[:len(path)-1] {
		next := v.Get(key)
		if next == nil || next.Kind != strictyaml.Map {
			next = &strictyaml.Value{Kind: strictyaml.Map}
			set(v, key, next)
		}
		v = next
	}
	set(v, path[len(path)-1], to)
}

// addSetting adds the keys of a path that are missing: at the end of the text, or behind the line of
// the last key that is there.
func (d *document) addSetting(found []*yaml.Node, path []string, value *strictyaml.Value) ([]byte, error) {
	s, err := scalar(value, false)
	if err != nil {
		return nil, err
	}
	depth := len(found) - 1 // of the first missing key
	at, indent := len(d.lines), ""
	if depth > 0 {
		key, _ := pair(found[depth-1], path[depth-1])
		at, indent = key.Line, strings.Repeat(" ", key.Column+1)
		if n := found[depth]; n != nil {
			if n.Style&yaml.FlowStyle != 0 || n.Line == key.Line {
				return nil, errByHand
			}
			indent = strings.Repeat(" ", n.Content[0].Column-1)
		}
	}
	var added []string
	if depth == 0 && at > 0 && strings.TrimSpace(d.lines[at-1]) != "" {
		added = append(added, "") // sets the section apart
	}
	for i, key := range path[depth:] {
		line := indent + strings.Repeat("  ", i) + key + ":"
		if depth+i == len(path)-1 {
			line += " " + s
		}
		added = append(added, line)
	}
	return d.insert(at, added), nil
}

// removeLines removes the lines of the keys of a path, of which each mapping but the first has
// nothing else.
func (d *document) removeLines(found []*yaml.Node, path []string) ([]byte, error) {
	lines := slices.Clone(d.lines)
	for i, key := range path {
		k, value := pair(found[i], key)
		line, from, to, err := d.span(k)
		if err != nil || found[i].Style&yaml.FlowStyle != 0 || strings.TrimSpace(d.lines[line][:from]) != "" {
			return nil, errByHand
		}
		rest := d.lines[line][to:]
		if i == len(path)-1 {
			at, _, end, err := d.span(value)
			if err != nil || at != line {
				return nil, errByHand
			}
			rest = d.lines[line][end:]
		} else {
			rest = strings.TrimPrefix(strings.TrimSpace(rest), ":")
		}
		lines[line] = ""
		if rest = strings.TrimSpace(rest); rest != "" { // a comment
			lines[line] = d.lines[line][:from] + rest + d.newline
		}
	}
	return []byte(strings.Join(lines, "")), nil
}
