package strictyaml

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config has the limits of a configuration file.
var Config = Limits{Bytes: 1 << 20, Apart: 1 << 20, Depth: 32, Keys: 1000}

// Decode reads a configuration in YAML into out, a pointer to a struct, over its present
// values. The `yaml:"name"` tags name the fields. Decode returns all unknown keys and values
// of the wrong kind together, as Problems with file, line and path. It calls Validate() error
// of each decoded value that has this method. An error of it (or each, if joined) that begins
// with "key: " gets the line of that key.
func Decode(file string, data []byte, out any) error {
	docs, duplicates, err := parse(data, Config)
	if err != nil {
		return inFile(file, err)
	}
	if len(docs) > 1 {
		return Problems{{File: file, Line: docs[1].Line, Column: docs[1].Column, Text: "a second document begins here; put all in one"}}
	}
	root := &Value{Kind: Map}
	if len(docs) == 1 {
		root = docs[0]
	}
	d := newDecoder(file)
	for _, p := range duplicates {
		d.fail(place{p.Line, p.Column}, "", "%s", p.Text)
	}
	return d.root(root, out)
}

// DecodeValue is Decode for a value of Parse.
func DecodeValue(file string, root *Value, out any) error {
	return newDecoder(file).root(root, out)
}

func (d *decoder) root(v *Value, out any) error {
	d.into(reflect.ValueOf(out).Elem(), v, "")
	return d.problems.Err()
}

func inFile(file string, err error) error {
	if ps, ok := errors.AsType[Problems](err); ok {
		for i := range ps {
			ps[i].File = file
		}
		return ps
	}
	return err
}

type decoder struct {
	file     string
	problems Problems
	known    map[reflect.Type][]field // result of fieldsOf, by type
}

func newDecoder(file string) *decoder {
	return &decoder{file: file, known: map[reflect.Type][]field{}}
}

func (d *decoder) fail(at place, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{File: d.file, Line: at.line, Column: at.column, Path: path, Text: fmt.Sprintf(format, args...)})
}

func join(path, key string) string {
	if path == "" || key == "" {
		return path + key
	}
	return path + "." + key
}

var durationType = reflect.TypeFor[time.Duration]()

// into reads v into out. Null does not change out.
func (d *decoder) into(out reflect.Value, v *Value, path string) {
	if out.Type() == reflect.TypeFor[Node]() {
		out.Set(reflect.ValueOf(Node{v, d.file, path}))
		return
	}
	if v.Kind == Null {
		return
	}
	before := len(d.problems)
	switch {
	case out.Type() == durationType:
		d.duration(out, v, path)
	case reflect.PointerTo(out.Type()).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		d.text(out, v, path)
	default:
		d.kind(out, v, path)
	}
	if len(d.problems) == before || v.Kind == Map {
		d.validate(out, v, path)
	}
}

func (d *decoder) kind(out reflect.Value, v *Value, path string) {
	switch out.Kind() {
	case reflect.Pointer:
		if out.IsNil() {
			out.Set(reflect.New(out.Type().Elem()))
		}
		d.into(out.Elem(), v, path)
	case reflect.Struct:
		d.fields(out, v, path)
	case reflect.Map:
		d.entries(out, v, path)
	case reflect.Slice:
		d.items(out, v, path)
	case reflect.Interface:
		out.Set(reflect.ValueOf(v.plain()))
	default:
		d.scalar(out, v, path)
	}
}

// plain returns a value as a Go value: string, bool, float64, []any or map[string]any.
func (v *Value) plain() any {
	switch v.Kind {
	case Bool:
		return v.Text == "true"
	case Number:
		f, _ := strconv.ParseFloat(v.Text, 64) // the parser has checked the range
		return f
	case String:
		return v.Text
	case List:
		list := make([]any, len(v.List))
		for i, one := range v.List {
			list[i] = one.plain()
		}
		return list
	case Map:
		m := make(map[string]any, len(v.Pairs))
		for _, p := range v.Pairs {
			m[p.Key] = p.Value.plain()
		}
		return m
	}
	return nil
}

// want notes a problem unless v is of the kind, and reports whether it is.
func (d *decoder) want(v *Value, kind Kind, path string) bool {
	if v.Kind != kind {
		d.fail(v.place(), path, "is %s; write %s", v.Kind, kind)
	}
	return v.Kind == kind
}

func (d *decoder) fields(out reflect.Value, v *Value, path string) {
	if !d.want(v, Map, path) {
		return
	}
	known, ok := d.known[out.Type()]
	if !ok {
		known = fieldsOf(out.Type())
		d.known[out.Type()] = known
	}
	for _, p := range v.Pairs {
		i := slices.IndexFunc(known, func(f field) bool { return f.name == p.Key })
		if i < 0 {
			d.fail(p.place(), join(path, p.Key), "unknown key%s; known keys: %s", suggest(p.Key, known), names(known))
			continue
		}
		d.into(out.FieldByIndex(known[i].index), p.Value, join(path, p.Key))
	}
}

func (d *decoder) entries(out reflect.Value, v *Value, path string) {
	if !d.want(v, Map, path) {
		return
	}
	if out.IsNil() {
		out.Set(reflect.MakeMapWithSize(out.Type(), len(v.Pairs)))
	}
	for _, p := range v.Pairs {
		one := reflect.New(out.Type().Elem()).Elem()
		d.into(one, p.Value, join(path, p.Key))
		out.SetMapIndex(reflect.ValueOf(p.Key).Convert(out.Type().Key()), one)
	}
}

// items decodes a list; it accepts a single text for a list of texts.
func (d *decoder) items(out reflect.Value, v *Value, path string) {
	list := v.List
	if v.Kind == String && out.Type().Elem().Kind() == reflect.String {
		list = []*Value{v}
	} else if !d.want(v, List, path) {
		return
	}
	s := reflect.MakeSlice(out.Type(), len(list), len(list))
	for i, one := range list {
		d.into(s.Index(i), one, fmt.Sprintf("%s[%d]", path, i))
	}
	out.Set(s)
}

func (d *decoder) duration(out reflect.Value, v *Value, path string) {
	t, err := time.ParseDuration(v.Text)
	switch {
	case v.Kind == Number && v.Text != "0":
		d.fail(v.place(), path, "%s has no unit; write %[1]ss for seconds, %[1]sm for minutes or %[1]sms for thousandths of a second", v.Text)
	case v.Kind == Number:
	case err != nil || v.Kind != String:
		d.fail(v.place(), path, "%q is not a duration; write it like 90s, 10m or 2h30m", v.Text)
	case t < 0:
		d.fail(v.place(), path, "%s is negative; write a duration of 0 or more", v.Text)
	}
	out.SetInt(int64(t))
}

func (d *decoder) text(out reflect.Value, v *Value, path string) {
	if v.Kind == List || v.Kind == Map {
		d.fail(v.place(), path, "is %s; write text", v.Kind)
		return
	}
	err := out.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(v.Text))
	if err != nil && out.Type().String() == "netip.Prefix" { // its own error is for programmers
		err = fmt.Errorf("%.60q is no network; write it like 192.168.1.0/24", v.Text)
	}
	if err != nil {
		d.fail(v.place(), path, "%v", err)
	}
}

func (d *decoder) scalar(out reflect.Value, v *Value, path string) {
	switch out.Kind() {
	case reflect.String:
		if v.Kind != String && v.Kind != Number { // 1234 is a fine name
			d.want(v, String, path)
			return
		}
		out.SetString(v.Text)
	case reflect.Bool:
		if d.want(v, Bool, path) {
			out.SetBool(v.Text == "true")
		}
	default:
		if d.want(v, Number, path) {
			d.number(out, v, path)
		}
	}
}

func (d *decoder) number(out reflect.Value, v *Value, path string) {
	switch {
	case out.CanInt():
		i, err := strconv.ParseInt(v.Text, 10, out.Type().Bits())
		d.numeric(v, path, "a whole number", err)
		out.SetInt(i)
	case out.CanUint():
		u, err := strconv.ParseUint(v.Text, 10, out.Type().Bits())
		d.numeric(v, path, "a whole number of 0 or more", err)
		out.SetUint(u)
	case out.CanFloat():
		f, err := strconv.ParseFloat(v.Text, out.Type().Bits())
		d.numeric(v, path, "a number", err)
		out.SetFloat(f)
	default:
		panic("strictyaml: a configuration has a field of type " + out.Type().String())
	}
}

func (d *decoder) numeric(v *Value, path, want string, err error) {
	if errors.Is(err, strconv.ErrRange) {
		d.fail(v.place(), path, "%s is too large; write a smaller number", v.Text)
	} else if err != nil {
		d.fail(v.place(), path, "%s is not %s; write one", v.Text, want)
	}
}

// validate calls the Validate method of a decoded value.
func (d *decoder) validate(out reflect.Value, v *Value, path string) {
	val, ok := out.Addr().Interface().(interface{ Validate() error })
	if !ok || out.Kind() == reflect.Pointer {
		return
	}
	before := d.problems
	for _, err := range split(val.Validate()) {
		key, text, ok := strings.Cut(err.Error(), ": ")
		if ok && !strings.ContainsAny(key, " \"'") {
			p := Problems{{File: d.file, Path: key, Text: text}}.Locate(v)[0]
			if p.Path = join(path, key); !hasProblem(before, p.Path) && !slices.Contains(d.problems, p) {
				d.problems = append(d.problems, p)
			}
			continue
		}
		d.fail(v.place(), path, "%v", err)
	}
}

// hasProblem reports whether a key, or an item of its list, has a problem already. Its
// value is unknown then.
func hasProblem(problems Problems, path string) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool {
		item, ok := strings.CutPrefix(p.Path, path+"[")
		return p.Path == path || ok && strings.IndexByte(item, ']') == len(item)-1
	})
}

func split(err error) []error {
	if err == nil {
		return nil
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range j.Unwrap() {
			all = append(all, split(e)...)
		}
		return all
	}
	return []error{err}
}
