package receipt_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
)

// This is an independent implementation of docs/reference/receipts.md. It shares no code with package
// receipt, and decodes JSON without package mess.

// canonicalByOther prints JSON in the form of RFC 8785.
func canonicalByOther(data []byte) (string, error) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return "", err
	}
	var b strings.Builder
	print8785(&b, v)
	return b.String(), nil
}

func print8785(b *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		quote8785(b, v)
	case float64:
		b.WriteString(ecma(v))
	case []any:
		for i, one := range v {
			b.WriteByte("[,"[min(i, 1)])
			print8785(b, one)
		}
		if len(v) == 0 {
			b.WriteByte('[')
		}
		b.WriteByte(']')
	case map[string]any:
		var keys []string
		for k := range v {
			keys = append(keys, k)
		}
		sort.Slice(keys, func(i, j int) bool { return units(keys[i]) < units(keys[j]) })
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			quote8785(b, k)
			b.WriteByte(':')
			print8785(b, v[k])
		}
		b.WriteByte('}')
	default:
		fmt.Fprint(b, map[any]string{nil: "null", true: "true", false: "false"}[v])
	}
}

// units returns s in UTF-16, big-endian, so that it sorts by code units.
func units(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u>>8), byte(u))
	}
	return string(b)
}

func quote8785(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch i := strings.IndexByte("\b\t\n\f\r\"\\", c); {
		case i >= 0:
			b.WriteString(`\` + `btnfr"\`[i:i+1])
		case c < 0x20:
			fmt.Fprintf(b, "\\u%04x", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}

// ecma implements Number::toString of ECMA-262.
func ecma(f float64) string {
	if f == 0 {
		return "0"
	}
	if f < 0 {
		return "-" + ecma(-f)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	e, _ := strconv.Atoi(exponent)
	digits := strings.Replace(mantissa, ".", "", 1)
	k, n := len(digits), e+1
	switch {
	case k <= n && n <= 21:
		return digits + strings.Repeat("0", n-k)
	case 0 < n && n <= 21:
		return digits[:n] + "." + digits[n:]
	case -6 < n && n <= 0:
		return "0." + strings.Repeat("0", -n) + digits
	}
	sign := "+"
	if n-1 < 0 {
		sign = "-"
	}
	if k > 1 {
		digits = digits[:1] + "." + digits[1:]
	}
	return digits + "e" + sign + strconv.Itoa(max(n-1, 1-n))
}

// heldByOther reports whether a message agrees with its receipt.
func heldByOther(message []byte, files map[string][]byte) bool {
	var m struct {
		From string           `json:"from"`
		MESS []map[string]any `json:"MESS"`
	}
	if err := json.Unmarshal(message, &m); err != nil || len(m.MESS) > 2 {
		return false
	}
	var status, response map[string]any
	for _, item := range m.MESS {
		if s, ok := item["status"].(map[string]any); ok {
			status = s
		}
		if r, ok := item["response"].(map[string]any); ok {
			response = r
		}
	}
	receipt, ok := status["receipt"].(map[string]any)
	if !ok || len(m.MESS) == 2 && response == nil {
		return false
	}
	sig, _ := base64.StdEncoding.DecodeString(fmt.Sprint(receipt["sig"]))
	key, _ := base64.StdEncoding.DecodeString(fmt.Sprint(receipt["key"]))
	delete(receipt, "sig")
	delete(status, "receipt")
	delete(status, "re")
	if len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, []byte("messkit receipt v1\n"+form(receipt)), sig) {
		return false
	}
	content, _ := response["content"].([]any)
	delete(response, "content")
	delete(response, "re")
	words := map[string]any{"status": status}
	if response != nil {
		words["response"] = response
	}
	return receipt["report"] == sum([]byte(form(words))) && receipt["executor"] == m.From && receipt["status"] == status["code"] &&
		contentHeld(content, receipt["content"], files)
}

func contentHeld(content []any, signed any, files map[string][]byte) bool {
	list, _ := signed.([]any)
	if len(list) != len(content) {
		return false
	}
	for i, e := range content {
		want := list[i].(map[string]any)
		if entry, ok := e.(map[string]any); ok {
			if image, ok := entry["image"].(map[string]any); ok {
				name, _ := image["file"].(string)
				delete(image, "file")
				if image["sha256"] != want["sha256"] || sum(files[name]) != want["sha256"] {
					return false
				}
			}
		}
		if want["entry"] != sum([]byte(form(e))) {
			return false
		}
	}
	return true
}

func form(v any) string {
	var b strings.Builder
	print8785(&b, v)
	return b.String()
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
