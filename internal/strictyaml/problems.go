package strictyaml

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/messkit/messkit/internal/order"
)

// Problem is one error in a document.
type Problem struct {
	File string // "" for a text from no file
	Line int    // from 1; 0 for the whole document, or if unknown
	Path string // devices.porch-lamp.pin, [0].request.intent; "" for the whole
	Text string // problem; remedy

	Column int // of the key or value in its line, in characters from 1; 0 if unknown
}

func (p Problem) Error() string {
	var b strings.Builder
	switch {
	case p.File != "" && p.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", p.File, p.Line)
	case p.File != "":
		fmt.Fprintf(&b, "%s: ", p.File)
	case p.Line > 0:
		fmt.Fprintf(&b, "line %d: ", p.Line)
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Text)
	return oneLine(b.String())
}

// oneLine returns text with escaped control characters: a line break in a name would split the
// message.
func oneLine(text string) string {
	if !strings.ContainsFunc(text, unicode.IsControl) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unicode.IsControl(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Problems are all problems of a document, one line each.
type Problems []Problem

// maxShown is the largest number of printed problems: a person fixes the first ones and checks
// again.
const maxShown = 50

func (p Problems) Error() string {
	lines := make([]string, 0, min(len(p), maxShown)+1)
	for i, one := range p {
		if i == maxShown {
			lines = append(lines, fmt.Sprintf("and %d more", len(p)-maxShown))
			break
		}
		lines = append(lines, one.Error())
	}
	return strings.Join(lines, "\n")
}

// Err returns p, file by file in the order of the lines, as an error; nil if there are none.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	order.By(p, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return p
}

// problem returns an error with one problem.
func problem(line int, format string, args ...any) error {
	return Problems{{Line: line, Text: fmt.Sprintf(format, args...)}}
}

func (p *Problem) at(where place) { p.Line, p.Column = where.line, where.column }

// Locate returns p with the places of the values at the paths, or of the deepest existing value on
// a path.
func (p Problems) Locate(root *Value) Problems {
	for i := range p {
		if p[i].Line == 0 {
			p[i].at(placeOf(root, p[i].Path))
		}
	}
	return p
}

// placeOf follows a path such as [0].request.context[2].image.
func placeOf(v *Value, path string) place {
	found := v.place()
	for path != "" && v != nil {
		path = strings.TrimPrefix(path, ".")
		rest, ok := strings.CutPrefix(path, "[")
		if !ok {
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			var at place
			if v, at = pair(v, path[:end]); at.line > 0 && at.line >= found.line {
				found = at
			}
			path = path[end:]
			continue
		}
		v, path = item(v, rest)
		if v != nil {
			found = v.place()
		}
	}
	return found
}

func item(v *Value, rest string) (*Value, string) {
	var i int
	end := strings.IndexByte(rest, ']')
	if end < 0 {
		return nil, ""
	}
	if _, err := fmt.Sscanf(rest[:end], "%d", &i); err != nil || i < 0 || i >= len(v.List) {
		return nil, ""
	}
	return v.List[i], rest[end+1:]
}

func pair(v *Value, key string) (*Value, place) {
	for _, p := range v.Pairs {
		if p.Key == key {
			return p.Value, p.place()
		}
	}
	return nil, place{}
}
