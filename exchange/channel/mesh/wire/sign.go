package wire

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Key is the secret that two agents share: the text of a key file.
type Key string

// bytes returns the key for signatures: the text without white space, not decoded.
func (k Key) bytes() []byte {
	return []byte(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, string(k)))
}

const signaturePrefix = "sha256:"

func (k Key) mac(text string) []byte {
	m := hmac.New(sha256.New, k.bytes())
	_, _ = io.WriteString(m, text) // a hash never fails
	return m.Sum(nil)
}

// Sign appends the signature to the text of an unsigned envelope. It also returns the signature
// for the header of the request.
func (k Key) Sign(text string) (signed, signature string) {
	signature = signaturePrefix + base64.StdEncoding.EncodeToString(k.mac(text))
	return text[:len(text)-1] + `,"signature":"` + signature + `"}`, signature
}

// Verify reports whether an envelope has a valid signature of the key. Agents sign the text
// without the signature. If another program has reformatted the text, Verify compares the form
// that jq prints.
func (k Key) Verify(text string) bool {
	o, err := object([]byte(text))
	if err != nil || len(k.bytes()) == 0 {
		return false
	}
	want, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(o.Get("signature"), signaturePrefix))
	if err != nil {
		return false
	}
	if i := strings.LastIndex(text, `,"signature":"`); i >= 0 && onlySignature(text[i+1:]) && hmac.Equal(want, k.mac(text[:i]+"}")) {
		return true
	}
	plain, err := canonical(text)
	return err == nil && hmac.Equal(want, k.mac(plain))
}

// onlySignature reports whether a text contains only the signature and the end of an envelope,
// because Verify ignores it.
func onlySignature(rest string) bool {
	o, err := object([]byte("{" + rest))
	return err == nil && len(o) == 1 && strings.HasSuffix(rest, `"}`)
}

// canonical returns an envelope without its signature in the form of jq 1.6.
func canonical(text string) (string, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	v, err := value(dec)
	if err != nil {
		return "", err
	}
	o, ok := v.(members)
	if !ok {
		return "", errors.New("no object")
	}
	return string(appendValue(nil, slices.DeleteFunc(o, func(m member) bool { return m.key == "signature" }))), nil
}

// members is an object in the order of its keys; each key occurs once.
type members []member

type member struct {
	key   string
	value any
}

// value parses the next value: nil, bool, string, json.Number, []any or members.
func value(dec *json.Decoder) (any, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := value(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	case json.Delim('{'):
		o, at := members{}, map[string]int{}
		for dec.More() {
			k, err := dec.Token()
			if err != nil {
				return nil, err
			}
			v, err := value(dec)
			if err != nil {
				return nil, err
			}
			key := k.(string)
			if i, twice := at[key]; twice {
				o[i].value = v
				continue
			}
			at[key] = len(o)
			o = append(o, member{key, v})
		}
		_, err := dec.Token()
		return o, err
	}
	return t, nil
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		return appendString(b, v)
	case json.Number:
		return appendNumber(b, v)
	case []any:
		b = append(b, '[')
		for i, one := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, one)
		}
		return append(b, ']')
	case members:
		b = append(b, '{')
		for i, m := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, m.key), ':')
			b = appendValue(b, m.value)
		}
		return append(b, '}')
	}
	return b
}

// appendNumber appends a double as jq does: the shortest digits, up to 15 zeros after them or
// three before them, otherwise an exponent of at least two digits.
func appendNumber(b []byte, n json.Number) []byte {
	f, _ := n.Float64() // ±Inf for a number that is too large
	f = max(-math.MaxFloat64, min(math.MaxFloat64, f))
	text := strconv.FormatFloat(math.Abs(f), 'e', -1, 64)
	mantissa, exp, _ := strings.Cut(text, "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	e, _ := strconv.Atoi(exp)
	point := e + 1 // digits before the decimal point
	if math.Signbit(f) {
		b = append(b, '-')
	}
	switch {
	case f == 0:
		return append(b, '0')
	case point <= -4 || point > len(digits)+15:
		b = append(b, mantissa...)
		b = append(b, 'e', '+')
		if e < 0 {
			b[len(b)-1], e = '-', -e
		}
		if e < 10 {
			b = append(b, '0')
		}
		return strconv.AppendInt(b, int64(e), 10)
	case point <= 0:
		b = append(b, "0."...)
		b = append(b, bytes.Repeat([]byte{'0'}, -point)...)
		return append(b, digits...)
	case point >= len(digits):
		b = append(b, digits...)
		return append(b, bytes.Repeat([]byte{'0'}, point-len(digits))...)
	}
	b = append(b, digits[:point]...)
	b = append(b, '.')
	return append(b, digits[point:]...)
}
