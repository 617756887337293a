package receipt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Canonical converts JSON to the canonical form of RFC 8785 (JCS): no white space, keys
// ordered by UTF-16 code units, strings with the fewest escapes, and numbers in the
// ECMAScript notation of their double. It returns an error for a duplicate key, and for a
// number that no double can represent.
func Canonical(data []byte) ([]byte, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("canonical form: the text is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := read(d, 0)
	if err != nil {
		return nil, fmt.Errorf("canonical form: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("canonical form: the text has more than one value")
	}
	return appendValue(nil, v)
}

// maxDepth is the limit for nested values; a message has at most 32 levels.
const maxDepth = 128

// read decodes one value, and rejects input that two readers might decode differently.
func read(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, nested := t.(json.Delim)
	switch {
	case !nested:
		return t, nil
	case depth == maxDepth:
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	case open == '[':
		return readList(d, depth+1)
	}
	return readMap(d, depth+1)
}

func readList(d *json.Decoder, depth int) (any, error) {
	list := []any{}
	for d.More() {
		v, err := read(d, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}

func readMap(d *json.Decoder, depth int) (any, error) {
	m := map[string]any{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string) // the decoder accepts no other key
		if _, twice := m[name]; twice {
			return nil, fmt.Errorf("duplicate key %.60q", name)
		}
		if m[name], err = read(d, depth); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return m, err
}

func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return appendString(b, v), nil
	case json.Number:
		return appendNumber(b, v)
	case []any:
		return appendList(b, v)
	case map[string]any:
		return appendMap(b, v)
	}
	return nil, fmt.Errorf("canonical form: a value of type %T", v)
}

func appendList(b []byte, list []any) ([]byte, error) {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, v); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// appendMap writes keys in the order of RFC 8785 section 3.2.3.
func appendMap(b []byte, m map[string]any) ([]byte, error) {
	keys := slices.SortedFunc(maps.Keys(m), func(x, y string) int {
		return slices.Compare(utf16.Encode([]rune(x)), utf16.Encode([]rune(y)))
	})
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(append(appendString(b, k), ':'), m[k]); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// escapes contains the escapes with a letter of RFC 8785 section 3.2.2.2.
var escapes = map[rune]string{'\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`, '"': `\"`, '\\': `\\`}

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch e, ok := escapes[r]; {
		case ok:
			b = append(b, e...)
		case r < ' ':
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// appendNumber writes a number as ECMAScript does (RFC 8785 section 3.2.2.3): the shortest
// digits that identify the double, with an exponent from 1e21 and below 1e-6.
func appendNumber(b []byte, n json.Number) ([]byte, error) {
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("canonical form: no double holds %.60s", n)
	}
	if f == 0 {
		return append(b, '0'), nil // including -0
	}
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64), nil
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	sign, digits := exponent[:1], strings.TrimLeft(exponent[1:], "0")
	return append(b, mantissa+"e"+sign+digits...), nil
}
