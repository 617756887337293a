package grammar

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/messkit/messkit/capabilities/lexicon"
)

// Template is a sentence with slots, in the syntax of hassil that Home Assistant uses. Its parts
// are (a|b) for one of both, (a;b) for both in any order, [a] for an optional part, {slot} or
// {slot:name} for a slot, and <rule> for a phrase from a rule.
type Template struct {
	Parts []Part
}

// PartKind is the kind of a part of a template.
type PartKind int

// The kinds of parts.
const (
	WordPart  PartKind = iota // a word
	SlotPart                  // a slot
	RulePart                  // a phrase from a rule
	GroupPart                 // one of alts
	MaybePart                 // one of alts, or nothing
	OrderPart                 // all of alts, in any order
)

// Part is one part of a template.
type Part struct {
	Kind PartKind
	Text string   // word, kind of slot, or name of rule
	Name string   // the name of a slot
	Alts [][]Part // of a group
}

// MaxOrder bounds how many parts may stand in any order: of four there are 24.
const MaxOrder = 4

// maxDepth bounds how deep brackets and rules may nest.
const maxDepth = 16

// ParseTemplate reads a template. The error names the problem and its place in the text.
func ParseTemplate(text string) (Template, error) {
	p := &templateParser{in: text}
	parts, err := p.sequence(0)
	if err == nil && p.at < len(text) {
		err = p.wrong("%q stands alone; write alternatives in ( )", text[p.at:p.at+1])
	}
	if err == nil && len(parts) == 0 {
		err = p.wrong("there is nothing here; write a sentence")
	}
	if err != nil {
		return Template{}, err
	}
	return Template{parts}, nil
}

// String prints the template with single spaces.
func (t Template) String() string {
	var b strings.Builder
	printParts(&b, t.Parts)
	return b.String()
}

func printParts(b *strings.Builder, parts []Part) {
	for i, p := range parts {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch p.Kind {
		case WordPart:
			b.WriteString(p.Text)
		case SlotPart:
			b.WriteString("{" + p.Text)
			if p.Name != p.Text {
				b.WriteString(":" + p.Name)
			}
			b.WriteByte('}')
		case RulePart:
			b.WriteString("<" + p.Text + ">")
		case GroupPart:
			printAlts(b, '(', p.Alts, "|", ')')
		case OrderPart:
			printAlts(b, '(', p.Alts, ";", ')')
		case MaybePart:
			printAlts(b, '[', p.Alts, "|", ']')
		}
	}
}

func printAlts(b *strings.Builder, left byte, alts [][]Part, bar string, right byte) {
	b.WriteByte(left)
	for i, a := range alts {
		if i > 0 {
			b.WriteString(bar)
		}
		printParts(b, a)
	}
	b.WriteByte(right)
}

type templateParser struct {
	in string
	at int
}

func (p *templateParser) wrong(format string, args ...any) error {
	return fmt.Errorf("sentence %q: at %d: %s", p.in, p.at+1, fmt.Sprintf(format, args...))
}

// sequence reads parts up to the end, a closing bracket or a bar.
func (p *templateParser) sequence(depth int) ([]Part, error) {
	if depth > maxDepth {
		return nil, p.wrong("brackets nest deeper than %d; use a rule", maxDepth)
	}
	var parts []Part
	for {
		start := p.at
		for p.at < len(p.in) && p.in[p.at] == ' ' {
			p.at++
		}
		if p.at == len(p.in) || strings.IndexByte("|;)]", p.in[p.at]) >= 0 {
			return parts, nil
		}
		if len(parts) > 0 && p.at == start {
			return nil, p.wrong("two parts touch; put a space between them")
		}
		one, err := p.part(depth)
		if err != nil {
			return nil, err
		}
		parts = append(parts, one)
	}
}

func (p *templateParser) part(depth int) (Part, error) {
	switch p.in[p.at] {
	case '(':
		return p.group(GroupPart, ')', depth)
	case '[':
		return p.group(MaybePart, ']', depth)
	case '{':
		return p.gap()
	case '<':
		text, err := p.until('>')
		return Part{Kind: RulePart, Text: text}, err
	}
	return p.word()
}

func (p *templateParser) group(kind PartKind, end byte, depth int) (Part, error) {
	one := Part{Kind: kind}
	bar := byte(0) // the separator of the alternatives
	for {
		p.at++ // the bracket or the bar
		alt, err := p.sequence(depth + 1)
		if err != nil {
			return Part{}, err
		}
		if len(alt) == 0 {
			return Part{}, p.wrong("nothing stands before this; write a word, or use [ ] for an optional part")
		}
		one.Alts = append(one.Alts, alt)
		if p.at == len(p.in) || p.in[p.at] != '|' && p.in[p.at] != ';' {
			break
		}
		if bar != 0 && bar != p.in[p.at] || kind == MaybePart && p.in[p.at] == ';' {
			return Part{}, p.wrong("%q does not go with the part before it; put brackets around one of the two", p.in[p.at:p.at+1])
		}
		bar = p.in[p.at]
	}
	if bar == ';' {
		one.Kind = OrderPart
		if len(one.Alts) > MaxOrder {
			return Part{}, p.wrong("%d parts in any order are too many; write %d at most", len(one.Alts), MaxOrder)
		}
	}
	if p.at == len(p.in) || p.in[p.at] != end {
		return Part{}, p.wrong("%q is missing; close the bracket", string(end))
	}
	p.at++
	return one, nil
}

func (p *templateParser) gap() (Part, error) {
	text, err := p.until('}')
	if err != nil {
		return Part{}, err
	}
	kind, name, named := strings.Cut(text, ":")
	if !named {
		name = kind
	}
	if !validName.MatchString(kind) || !validName.MatchString(name) {
		return Part{}, p.wrong("%q is no name of a slot; use a-z, 0-9 and _", text)
	}
	return Part{Kind: SlotPart, Text: kind, Name: name}, nil
}

var validName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// until reads the name up to end and steps behind it.
func (p *templateParser) until(end byte) (string, error) {
	n := strings.IndexByte(p.in[p.at:], end)
	if n < 0 {
		return "", p.wrong("%q is missing; close the bracket", string(end))
	}
	text := p.in[p.at+1 : p.at+n]
	if end == '>' && !validName.MatchString(text) {
		return "", p.wrong("%q is no name of a rule; use a-z, 0-9 and _", text)
	}
	p.at += n + 1
	return text, nil
}

// word reads letters up to a space or a bracket. It must be one word to the
// reader of requests too, or it would never match.
func (p *templateParser) word() (Part, error) {
	n := strings.IndexAny(p.in[p.at:], " ()[]{}<>|;")
	if n < 0 {
		n = len(p.in) - p.at
	}
	text := p.in[p.at : p.at+n]
	if n == 0 || !lexicon.OneWord(text) {
		return Part{}, p.wrong("%q is no word in lower case; use letters and digits, and write contractions out", p.in[p.at:p.at+max(n, 1)])
	}
	p.at += n
	return Part{Kind: WordPart, Text: text}, nil
}
