package interpret

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/messkit/messkit/capabilities/lexicon"
)

// Template is a sentence with gaps, in the syntax of hassil that Home Assistant
// uses: (a|b) one of, (a;b) both in any order, [a] or nothing, {slot} a gap, {slot:name} a gap under
// another name, <rule> a phrase defined elsewhere.
type Template struct {
	parts []part
}

type partKind int

const (
	wordPart partKind = iota
	slotPart
	rulePart
	groupPart // one of alts
	maybePart // one of alts, or nothing
	orderPart // all of alts, in any order
)

type part struct {
	kind partKind
	text string   // word, kind of slot, or name of rule
	name string   // what a slot goes by
	alts [][]part // of a group
}

// maxOrder bounds how many parts may stand in any order: of four there are 24.
const maxOrder = 4

// maxDepth bounds how deep brackets and rules may nest.
const maxDepth = 16

// ParseTemplate reads a template. An error says what is wrong and where.
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
	printParts(&b, t.parts)
	return b.String()
}

func printParts(b *strings.Builder, parts []part) {
	for i, p := range parts {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch p.kind {
		case wordPart:
			b.WriteString(p.text)
		case slotPart:
			b.WriteString("{" + p.text)
			if p.name != p.text {
				b.WriteString(":" + p.name)
			}
			b.WriteByte('}')
		case rulePart:
			b.WriteString("<" + p.text + ">")
		case groupPart:
			printAlts(b, '(', p.alts, "|", ')')
		case orderPart:
			printAlts(b, '(', p.alts, ";", ')')
		case maybePart:
			printAlts(b, '[', p.alts, "|", ']')
		}
	}
}

func printAlts(b *strings.Builder, left byte, alts [][]part, bar string, right byte) {
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
func (p *templateParser) sequence(depth int) ([]part, error) {
	if depth > maxDepth {
		return nil, p.wrong("brackets nest deeper than %d; use a rule", maxDepth)
	}
	var parts []part
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

func (p *templateParser) part(depth int) (part, error) {
	switch p.in[p.at] {
	case '(':
		return p.group(groupPart, ')', depth)
	case '[':
		return p.group(maybePart, ']', depth)
	case '{':
		return p.gap()
	case '<':
		text, err := p.until('>')
		return part{kind: rulePart, text: text}, err
	}
	return p.word()
}

func (p *templateParser) group(kind partKind, end byte, depth int) (part, error) {
	one := part{kind: kind}
	bar := byte(0) // what parts the alternatives
	for {
		p.at++ // the bracket or the bar
		alt, err := p.sequence(depth + 1)
		if err != nil {
			return part{}, err
		}
		if len(alt) == 0 {
			return part{}, p.wrong("there is nothing before this; write a word, or use [ ] for what may be left out")
		}
		one.alts = append(one.alts, alt)
		if p.at == len(p.in) || p.in[p.at] != '|' && p.in[p.at] != ';' {
			break
		}
		if bar != 0 && bar != p.in[p.at] || kind == maybePart && p.in[p.at] == ';' {
			return part{}, p.wrong("%q does not go with what stands before it; put brackets round one of the two", p.in[p.at:p.at+1])
		}
		bar = p.in[p.at]
	}
	if bar == ';' {
		one.kind = orderPart
		if len(one.alts) > maxOrder {
			return part{}, p.wrong("%d parts in any order are too many; write %d at most", len(one.alts), maxOrder)
		}
	}
	if p.at == len(p.in) || p.in[p.at] != end {
		return part{}, p.wrong("%q is missing; close the bracket", string(end))
	}
	p.at++
	return one, nil
}

func (p *templateParser) gap() (part, error) {
	text, err := p.until('}')
	if err != nil {
		return part{}, err
	}
	kind, name, named := strings.Cut(text, ":")
	if !named {
		name = kind
	}
	if !validName.MatchString(kind) || !validName.MatchString(name) {
		return part{}, p.wrong("%q is no name of a slot; use a-z, 0-9 and _", text)
	}
	return part{kind: slotPart, text: kind, name: name}, nil
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
func (p *templateParser) word() (part, error) {
	n := strings.IndexAny(p.in[p.at:], " ()[]{}<>|;")
	if n < 0 {
		n = len(p.in) - p.at
	}
	text := p.in[p.at : p.at+n]
	if n == 0 || !lexicon.OneWord(text) {
		return part{}, p.wrong("%q is no word in lower case; use letters and digits, and write contractions out", p.in[p.at:p.at+max(n, 1)])
	}
	p.at += n
	return part{kind: wordPart, text: text}, nil
}
