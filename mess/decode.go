package mess

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/messkit/messkit/internal/strictyaml"
)

// Problem is one error in a message: with a path such as
// [0].request.constraints.timing.urgency, and with a line if the message was text.
type Problem = strictyaml.Problem

// Problems contains all errors in a message.
type Problems = strictyaml.Problems

// node is a value of a document.
type node = strictyaml.Value

// short is a type that has forms other than a plain mapping.
type short interface {
	read(d *decoder, n *node, path string)
	write() *node
}

// decoder decodes values into the types of this package by their `mess` tags, and records
// problems.
type decoder struct {
	problems Problems
	found    []*node // each item of the message as written
	lenient  bool    // keeps values that do not fit their type
	quoted   bool    // text needs quotes, so a number is not text
}

func (d *decoder) fail(n *node, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{Line: n.Line, Path: path, Text: fmt.Sprintf(format, args...)})
}

// want records a problem unless n has the kind.
func (d *decoder) want(n *node, kind strictyaml.Kind, path string) bool {
	if n.Kind != kind {
		d.fail(n, path, "is %s; write %s", n.Kind, kind)
	}
	return n.Kind == kind
}

// into decodes n into v. Null counts as absent.
func (d *decoder) into(v reflect.Value, n *node, path string) {
	if n.Kind == strictyaml.Null {
		return
	}
	if s, ok := v.Addr().Interface().(short); ok {
		s.read(d, n, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.into(v.Elem(), n, path)
	case reflect.Struct:
		d.fields(v, n, path)
	case reflect.Slice:
		d.items(v, n, path)
	case reflect.Interface:
		v.Set(reflect.ValueOf(plain(n)))
	default:
		d.scalar(v, n, path)
	}
}

// fields decodes a mapping; unknown keys go to the field with the tag "*".
func (d *decoder) fields(v reflect.Value, n *node, path string) {
	if !d.want(n, strictyaml.Map, path) {
		return
	}
	t := typeOf(v.Type())
	var extra Object
	spelled := map[int]string{}
	for _, p := range n.Pairs {
		at := path + "." + p.Key
		if path == "" {
			at = p.Key
		}
		if i, ok := t.byName[p.Key]; ok {
			if other, twice := spelled[i]; twice {
				d.fail(p.Value, at, "is a duplicate of %s; remove one", other)
			}
			spelled[i] = p.Key
			read := func() { d.into(v.Field(i), p.Value, at) }
			if t.words[i] && p.Value.Kind == strictyaml.Number {
				read = func() { d.want(p.Value, strictyaml.String, at) }
			}
			if !d.try(read) {
				v.Field(i).SetZero()
				extra = append(extra, Field{p.Key, plain(p.Value)})
			}
		} else {
			extra = append(extra, Field{p.Key, plain(p.Value)})
		}
	}
	if t.extra >= 0 && extra != nil {
		v.Field(t.extra).Set(reflect.ValueOf(extra))
	}
}

// items decodes a list; a single value stands for a list of one.
func (d *decoder) items(v reflect.Value, n *node, path string) {
	list := n.List
	switch n.Kind {
	case strictyaml.List:
	case strictyaml.Map:
		if v.Type().Elem().Kind() != reflect.Struct {
			d.want(n, strictyaml.List, path)
			return
		}
		list = []*node{n}
	default:
		if v.Type() == reflect.TypeFor[[]Entry]() && n.Kind != strictyaml.String { // a number may be a typing error
			d.want(n, strictyaml.List, path)
			return
		}
		list = []*node{n}
	}
	s := reflect.MakeSlice(v.Type(), len(list), len(list))
	for i, one := range list {
		d.into(s.Index(i), one, fmt.Sprintf("%s[%d]", path, i))
	}
	v.Set(s)
}

func (d *decoder) scalar(v reflect.Value, n *node, path string) {
	switch v.Kind() {
	case reflect.String:
		d.text(v, n, path)
	case reflect.Bool:
		if d.want(n, strictyaml.Bool, path) { // strict, because "yes" must not confirm anything
			v.SetBool(n.Text == "true")
		}
	case reflect.Int64:
		if d.want(n, strictyaml.Number, path) {
			i, err := strconv.ParseInt(n.Text, 10, 64)
			d.whole(n, path, err)
			v.SetInt(i)
		}
	case reflect.Uint64:
		if d.want(n, strictyaml.Number, path) {
			u, err := strconv.ParseUint(n.Text, 10, 64)
			d.whole(n, path, err)
			v.SetUint(u)
		}
	case reflect.Float64:
		if d.want(n, strictyaml.Number, path) {
			f, _ := strconv.ParseFloat(n.Text, 64) // the parser has checked the range
			v.SetFloat(f)
		}
	default:
		panic("mess: a field of type " + v.Type().String())
	}
}

func (d *decoder) whole(n *node, path string, err error) {
	if err != nil {
		d.fail(n, path, "%s is not a whole number that fits; write one", n.Text)
	}
}

// text accepts a number as text, because quotes are optional: id: 42.
func (d *decoder) text(v reflect.Value, n *node, path string) {
	if (n.Kind != strictyaml.Number || d.quoted) && !d.want(n, strictyaml.String, path) {
		return
	}
	s := n.Text
	if v.Type() == reflect.TypeFor[Code]() {
		if c, err := ParseCode(s); err == nil {
			s = string(c)
		}
	}
	v.SetString(s)
}

// plain converts n to a value without a type.
func plain(n *node) any {
	switch n.Kind {
	case strictyaml.Bool:
		return n.Text == "true"
	case strictyaml.Number:
		return Number(n.Text)
	case strictyaml.String:
		return n.Text
	case strictyaml.List:
		list := make([]any, len(n.List))
		for i, one := range n.List {
			list[i] = plain(one)
		}
		return list
	case strictyaml.Map:
		return object(n)
	}
	return nil
}

func object(n *node) Object {
	o := make(Object, len(n.Pairs))
	for i, p := range n.Pairs {
		o[i] = Field{p.Key, plain(p.Value)}
	}
	return o
}

// layout contains the tags of a type.
type layout struct {
	fields []int // in order, without extra
	names  []string
	lists  []bool       // Refs that print as a list even with one entry: `mess:"name,list"`
	words  map[int]bool // text that must not be a number: `mess:"name,words"`
	byName map[string]int
	extra  int // index of the field with the tag "*"; -1 if there is none
}

var layouts sync.Map // *layout by reflect.Type

func typeOf(t reflect.Type) *layout {
	if l, ok := layouts.Load(t); ok {
		return l.(*layout)
	}
	l := &layout{words: map[int]bool{}, byName: map[string]int{}, extra: -1}
	for i := range t.NumField() {
		name, list := strings.CutSuffix(t.Field(i).Tag.Get("mess"), ",list")
		name, l.words[i] = strings.CutSuffix(name, ",words")
		switch name {
		case "", "-":
		case "*":
			l.extra = i
		default:
			l.fields, l.names, l.lists = append(l.fields, i), append(l.names, name), append(l.lists, list)
			l.byName[name] = i
		}
	}
	if i := slices.Index(l.names, "response_hint"); i >= 0 {
		l.byName["response_hints"] = l.fields[i] // many implementations use this spelling
	}
	layouts.Store(t, l)
	return l
}
