package strictyaml

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/messkit/messkit/internal/cleantext"
)

// YAML prints documents, with separators if there are several. It quotes text that a reader
// could take for another type (no, 12:30, 2026-01-31), and writes text of several lines as a
// block.
func YAML(docs ...*Value) ([]byte, error) {
	if len(docs) == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	for _, d := range docs {
		if err := enc.Encode(d.node()); err != nil {
			return nil, err
		}
	}
	err := enc.Close()
	return b.Bytes(), err
}

func (v *Value) node() *yaml.Node {
	switch v.Kind {
	case Null:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: v.Text}
	case Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: v.Text}
	case String:
		return text(v.Text)
	case List:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, one := range v.List {
			n.Content = append(n.Content, one.node())
		}
		if len(v.List) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	}
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, p := range v.Pairs {
		n.Content = append(n.Content, text(p.Key), p.Value.node())
	}
	if len(v.Pairs) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

// clean replaces bytes that neither format can hold: invalid UTF-8, and NUL, which Parse rejects.
// Some devices send such bytes.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

func text(s string) *yaml.Node {
	s = clean(s)
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case strings.Contains(s, "\n") && blockSafe(s):
		n.Style = yaml.LiteralStyle
	case ambiguous(s):
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// blockSafe reports whether a block scalar keeps s exactly: no line begins or ends with a
// space, and every character is visible. Only double quotes can escape invisible characters.
func blockSafe(s string) bool {
	for line := range strings.SplitSeq(s, "\n") {
		if strings.HasPrefix(line, " ") || strings.HasSuffix(line, " ") {
			return false
		}
	}
	if strings.HasPrefix(s, "\n") || strings.HasSuffix(s, "\n\n") {
		return false
	}
	return cleantext.IsClean(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '\n' && (!unicode.IsPrint(r) || r == '\u0085' || r == '\u2028' || r == '\u2029' || r == '\ufeff')
	})
}

// looksLike matches text that YAML 1.1 or 1.2 reads as a number, a truth value, a date, a merge
// or nothing.
var looksLike = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null|nil|~|<<|=|[-+.]?[0-9][-+0-9a-fox_.,:eT tz]*|[-+]?\.(inf|nan))$`)

// version matches a version number, such as 1.0.0, which no reader takes for a number.
var version = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// maxLooksLike is longer than any usual number or date.
const maxLooksLike = 64

func ambiguous(s string) bool {
	return s == "" || !cleantext.IsClean(s) || len(s) < maxLooksLike && looksLike.MatchString(s) && !version.MatchString(s) ||
		strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == '\ufeff' })
}

// JSON prints a value on one line.
func JSON(v *Value) []byte {
	var b bytes.Buffer
	v.json(&b)
	return b.Bytes()
}

func (v *Value) json(b *bytes.Buffer) {
	switch v.Kind {
	case Null:
		b.WriteString("null")
	case Bool, Number:
		b.WriteString(v.Text)
	case String:
		quote(b, v.Text)
	case List:
		b.WriteByte('[')
		for i, one := range v.List {
			if i > 0 {
				b.WriteByte(',')
			}
			one.json(b)
		}
		b.WriteByte(']')
	case Map:
		b.WriteByte('{')
		for i, p := range v.Pairs {
			if i > 0 {
				b.WriteByte(',')
			}
			quote(b, p.Key)
			b.WriteByte(':')
			p.Value.json(b)
		}
		b.WriteByte('}')
	}
}

// quote writes s as a JSON string. Nearly all strings need no escape.
func quote(b *bytes.Buffer, s string) {
	if bare(s) {
		b.WriteByte('"')
		b.WriteString(s)
		b.WriteByte('"')
		return
	}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(clean(s))
	b.Truncate(b.Len() - 1) // the encoder ends every value with a newline
}

// bare reports whether s stands for itself in a JSON string: printable ASCII
// without quotes and backslashes.
func bare(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
