package catalog

import (
	"maps"
	"slices"
	"strconv"

	"github.com/messkit/messkit/internal/strictyaml"
)

// hassList is the content of a slot in Home Assistant's sentences: a range of numbers, some
// texts with their meanings, or anything at all.
type hassList struct {
	ranged   bool
	from, to float64
	values   []hassValue
}

// hassValue is one text of a list.
type hassValue struct {
	in  string
	out any // string or float64
}

// hassBase is a list that Home Assistant's sentences may use without a file of theirs that
// has it.
type hassBase struct {
	Range  []float64      `yaml:"range"`  // from, to
	Values map[string]any `yaml:"values"` // by text
}

func (l hassBase) list() (list hassList) {
	if len(l.Range) == 2 {
		return hassList{ranged: true, from: l.Range[0], to: l.Range[1]}
	}
	for _, text := range slices.Sorted(maps.Keys(l.Values)) {
		list.values = append(list.values, hassValue{text, l.Values[text]})
	}
	return list
}

// hassListOf reads a list.
func (b *builder) hassListOf(file string, p strictyaml.Pair) (hassList, bool) {
	var list hassList
	wrong := func(line int, format string, args ...any) (hassList, bool) {
		b.addError("%s:%d: lists: %s: "+format, append([]any{file, line, p.Key}, args...)...)
		return list, false
	}
	values, numbers, wildcard := p.Value.Get("values"), p.Value.Get("range"), p.Value.Get("wildcard")
	switch {
	case values != nil && values.Kind == strictyaml.List:
		for _, v := range values.List {
			one, ok := hassValueOf(v)
			if !ok {
				return wrong(v.Line, "a value is neither a text nor in: with out:, or has no closing bracket")
			}
			list.values = append(list.values, one)
		}
		return list, true
	case numbers != nil && numbers.Kind == strictyaml.Map:
		from, ok1 := hassNumber(numbers.Get("from"))
		to, ok2 := hassNumber(numbers.Get("to"))
		if !ok1 || !ok2 || from > to {
			return wrong(numbers.Line, "no range; write from: and to: with numbers, the smaller first")
		}
		return hassList{ranged: true, from: from, to: to}, true
	case wildcard != nil && wildcard.Kind == strictyaml.Bool:
		return list, true
	}
	return wrong(p.Line, "no list; write values:, range: or wildcard: true")
}

func hassValueOf(v *strictyaml.Value) (one hassValue, ok bool) {
	in, out := v, v
	if v.Kind == strictyaml.Map {
		if in, out = v.Get("in"), v.Get("out"); out == nil {
			out = in
		}
	}
	if in == nil || in.Kind == strictyaml.Null || in.Kind > strictyaml.String || !balanced(in.Text) {
		return one, false
	}
	one = hassValue{in.Text, out.Text}
	if n, ok := hassNumber(out); ok {
		one.out = n
	}
	return one, true
}

func hassNumber(v *strictyaml.Value) (float64, bool) {
	if v == nil || v.Kind != strictyaml.Number {
		return 0, false
	}
	n, err := strconv.ParseFloat(v.Text, 64)
	return n, err == nil
}
