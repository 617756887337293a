package mess

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/messkit/messkit/internal/strictyaml"
)

// encode converts a type of this package, or a plain value, to a value of a document. It
// omits nil and "" from mappings.
func encode(v reflect.Value) *node {
	if !v.IsValid() {
		return &node{}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return &node{}
		}
		return encode(v.Elem())
	case reflect.String:
		if v.Type() == reflect.TypeFor[Number]() {
			return number(v.String())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return strictyaml.Str(v.Interface().(time.Time).Format(time.RFC3339Nano))
		}
	}
	if isShort(v.Type()) {
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		return p.Interface().(short).write()
	}
	return encodeKind(v)
}

var shorts sync.Map // bool by reflect.Type

func isShort(t reflect.Type) bool {
	if is, ok := shorts.Load(t); ok {
		return is.(bool)
	}
	is := reflect.PointerTo(t).Implements(reflect.TypeFor[short]())
	shorts.Store(t, is)
	return is
}

func encodeKind(v reflect.Value) *node {
	switch v.Kind() {
	case reflect.String:
		return strictyaml.Str(v.String())
	case reflect.Bool:
		return strictyaml.Truth(v.Bool())
	case reflect.Slice, reflect.Array:
		n := &node{Kind: strictyaml.List, List: make([]*node, v.Len())}
		for i := range v.Len() {
			n.List[i] = encode(v.Index(i))
		}
		return n
	case reflect.Struct:
		n := &node{Kind: strictyaml.Map}
		addFields(n, v)
		return n
	case reflect.Map:
		return encodeMap(v)
	case reflect.Float32, reflect.Float64:
		return float(v.Float())
	}
	if v.CanInt() {
		return strictyaml.Num(strconv.FormatInt(v.Int(), 10))
	}
	if v.CanUint() {
		return strictyaml.Num(strconv.FormatUint(v.Uint(), 10))
	}
	panic("mess: a value of type " + v.Type().String())
}

// addFields adds the non-empty fields of a struct, followed by the unknown ones.
func addFields(n *node, v reflect.Value) {
	t := typeOf(v.Type())
	for i, f := range t.fields {
		fv := v.Field(f)
		switch {
		case !isSet(fv):
		case t.lists[i] && !isWord(fv):
			n.Add(t.names[i], encodeKind(fv))
		default:
			n.Add(t.names[i], encode(fv))
		}
	}
	if t.extra >= 0 {
		if extra := v.Field(t.extra); extra.Len() > 0 {
			addObject(n, extra.Interface().(Object))
		}
	}
}

// isWord reports whether a list stands for one keyword (MESS 1.0 section 7.4).
func isWord(list reflect.Value) bool {
	return list.Len() == 1 && (list.Index(0).String() == LowerLatency || list.Index(0).String() == HigherPrecision)
}

func addObject(n *node, o Object) {
	for _, f := range o {
		if n.Get(f.Key) == nil { // known fields take precedence
			n.Add(f.Key, encode(reflect.ValueOf(f.Value)))
		}
	}
}

func isSet(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return !v.IsNil()
	case reflect.String, reflect.Uint64:
		return !v.IsZero()
	}
	return true
}

func encodeMap(v reflect.Value) *node {
	n := &node{Kind: strictyaml.Map}
	keys := map[string]reflect.Value{}
	for k, one := range v.Seq2() {
		keys[fmt.Sprint(k.Interface())] = one
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		n.Add(k, encode(keys[k]))
	}
	return n
}

// float prints a number, or null for NaN and infinity, which JSON cannot represent.
func float(f float64) *node {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return &node{}
	}
	b, _ := json.Marshal(f) // cannot fail for a finite number
	return strictyaml.Num(string(b))
}

var numberGrammar = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// number prints s as written, or as text if it is not a number.
func number(s string) *node {
	if !numberGrammar.MatchString(s) {
		return strictyaml.Str(s)
	}
	return strictyaml.Num(s)
}
