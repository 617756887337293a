package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Parse reads all documents of a YAML text, or the one of a JSON text, which it recognizes by
// the first character. The error is of type Problems. A text without a document gives none.
func Parse(data []byte, limits Limits) ([]*Value, error) {
	docs, duplicates, err := parse(data, limits)
	if err == nil {
		err = duplicates.Err()
	}
	if err != nil {
		return nil, err
	}
	return docs, nil
}

// parse is Parse that returns duplicate keys of mappings apart. The first of each counts, so
// that a caller can report the other problems as well.
func parse(data []byte, limits Limits) (docs []*Value, duplicates Problems, err error) {
	if data, err = limits.check(data); err != nil {
		return nil, nil, err
	}
	if !isJSON(data) {
		return limits.yaml(data)
	}
	v, err := limits.json(data)
	if err == nil {
		return []*Value{v}, nil, nil
	}
	// A flow mapping such as {a: b} looks like JSON and is YAML. If the text is neither, the
	// first error fits better.
	if isFlow(data) {
		if docs, duplicates, yamlErr := limits.yaml(data); yamlErr == nil {
			return docs, duplicates, nil
		}
	}
	return nil, nil, err
}

func isJSON(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && (data[0] == '{' || data[0] == '[')
}

// isFlow reports whether a text that looks like JSON is YAML in flow style: its first key has
// no quotes.
func isFlow(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n[{")
	return len(data) > 0 && data[0] != '"'
}

// ParseJSON reads a JSON text. Its errors have lines as well.
func ParseJSON(data []byte, limits Limits) (*Value, error) {
	data, err := limits.check(data)
	if err != nil {
		return nil, err
	}
	return limits.json(data)
}

func (l Limits) yaml(data []byte) (docs []*Value, duplicates Problems, err error) {
	defer func() {
		if p := recover(); p != nil {
			docs, duplicates, err = nil, nil, problem(0, "not valid YAML: %v", p)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		if err := dec.Decode(&n); errors.Is(err, io.EOF) {
			return docs, duplicates, nil
		} else if err != nil {
			return nil, nil, syntax(data, err)
		}
		if n.Kind != yaml.DocumentNode || len(n.Content) == 0 {
			continue
		}
		r := reader{limits: l}
		v := r.value(n.Content[0], 0)
		if err := r.problems.Err(); err != nil {
			return nil, nil, append(r.problems, r.duplicates...).Err()
		}
		duplicates = append(duplicates, r.duplicates...)
		if !(v.Kind == Null && v.Text == "" && n.Content[0].Value == "") {
			docs = append(docs, v)
		}
	}
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntax returns an error of the parser as a problem with its line.
func syntax(data []byte, err error) error {
	text := strings.ReplaceAll(err.Error(), "\n", " ")
	m := yamlLine.FindStringSubmatch(text)
	if m == nil {
		return problem(0, "%s", text)
	}
	line, _ := strconv.Atoi(m[1])
	line, text = max(line, 1), m[2] // the parser omits the number of the first line
	if lines := bytes.Split(data, []byte("\n")); line > 0 && line <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[line-1], " "), []byte("\t")) {
		text += "; indent with spaces, not with tabs"
	}
	return problem(line, "not YAML: %s", text)
}

// reader turns the parser's nodes into values.
type reader struct {
	limits     Limits
	problems   Problems
	duplicates Problems // duplicate keys
}

// fail notes a problem, and returns a value in the place of n.
func (r *reader) fail(n *yaml.Node, format string, args ...any) *Value {
	r.problems = append(r.problems, Problem{Line: n.Line, Column: n.Column, Text: fmt.Sprintf(format, args...)})
	return &Value{Line: n.Line, Column: n.Column}
}

func (r *reader) value(n *yaml.Node, depth int) *Value {
	switch {
	case len(r.problems) > maxShown:
		return &Value{}
	case depth > r.limits.Depth:
		return r.fail(n, "nested more than %d deep; make it flatter", r.limits.Depth)
	case n.Kind == yaml.AliasNode:
		return r.fail(n, "an alias (*%s); write the value out", n.Value)
	case n.Anchor != "":
		return r.fail(n, "an anchor (&%s); write the values out, without anchors", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		return r.fail(n, "a tag (%s); leave it out", n.Tag)
	}
	switch n.Kind {
	case yaml.SequenceNode:
		v := &Value{Kind: List, Line: n.Line, Column: n.Column, List: make([]*Value, 0, len(n.Content))}
		for _, c := range n.Content {
			v.List = append(v.List, r.value(c, depth+1))
		}
		return v
	case yaml.MappingNode:
		return r.mapping(n, depth)
	}
	return r.scalar(n)
}

func (r *reader) mapping(n *yaml.Node, depth int) *Value {
	if len(n.Content)/2 > r.limits.Keys {
		return r.fail(n, "a mapping with %d keys; the limit is %d", len(n.Content)/2, r.limits.Keys)
	}
	v := &Value{Kind: Map, Line: n.Line, Column: n.Column, Pairs: make([]Pair, 0, len(n.Content)/2)}
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode || k.Anchor != "" || k.Style&yaml.TaggedStyle != 0:
			r.fail(k, "a key that is not plain text; use text")
			continue
		case k.ShortTag() == "!!merge":
			r.fail(k, "a merge key (<<); write the keys out")
			continue
		case strings.Contains(k.Value, "\x00"):
			r.fail(k, "a NUL character; this is not text")
			continue
		case seen[k.Value] > 0:
			r.duplicates = append(r.duplicates, Problem{Line: k.Line, Column: k.Column, Text: fmt.Sprintf("%q is here twice, first on line %d; keep one", k.Value, seen[k.Value])})
			continue
		}
		seen[k.Value] = k.Line
		v.Pairs = append(v.Pairs, Pair{Key: k.Value, Line: k.Line, Column: k.Column, Value: r.value(n.Content[i+1], depth+1)})
	}
	return v
}

// jsonNumber is the grammar of RFC 8259 section 6.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// scalar reads the scalars of JSON as such, and all others as text: 007, 0x1F, 1_000, yes, .inf
// and dates stay unchanged.
func (r *reader) scalar(n *yaml.Node) *Value {
	if strings.Contains(n.Value, "\x00") {
		return r.fail(n, "a NUL character; this is not text")
	}
	v := &Value{Kind: String, Text: n.Value, Line: n.Line, Column: n.Column}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return v
	}
	switch n.ShortTag() {
	case "!!null":
		v.Kind, v.Text = Null, ""
	case "!!bool":
		v.Kind, v.Text = Bool, strings.ToLower(n.Value)
	default:
		if jsonNumber.MatchString(n.Value) {
			if !inRange(n.Value) {
				return r.fail(n, "the number %.40s is out of range; put it in quotes if it is text", n.Value)
			}
			v.Kind = Number
		}
	}
	return v
}

// inRange reports whether every reader can represent a number.
func inRange(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}
