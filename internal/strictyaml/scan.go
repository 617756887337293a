package strictyaml

import (
	"bytes"
	"unicode/utf8"
)

// Limits of a document.
type Limits struct {
	Bytes int // of the whole
	Apart int // bytes of the whole without its data URIs
	Depth int // levels of nested lists and mappings
	Keys  int // keys of one mapping
	Text  int // length from which a string of a JSON text does not count for Apart, in bytes; 0: all count
	// HalfSurrogates accepts half of a surrogate pair in JSON (\ud800 alone), which becomes U+FFFD.
	// With it the program can read documents of programs that write such halves.
	HalfSurrogates bool
}

// Message has the limits of a message: 64 KB apart from data URIs, which have their own limit.
// Reading such a message takes some milliseconds and megabytes.
var Message = Limits{Bytes: 10 << 20, Apart: 64 << 10, Depth: 32, Keys: 1000}

var (
	byteOrderMark = []byte("\xef\xbb\xbf")
	dataURI       = []byte("data:")
	base64Mark    = []byte(";base64,")
)

// check checks data before the parser reads it, and returns it without a byte order mark.
func (l Limits) check(data []byte) ([]byte, error) {
	if len(data) > l.Bytes {
		return nil, problem(0, "%d bytes are too many; the limit is %d", len(data), l.Bytes)
	}
	data = bytes.TrimPrefix(data, byteOrderMark)
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return nil, problem(lineAt(data, i), "a NUL byte; this is not text")
	}
	if !utf8.Valid(data) {
		return nil, problem(lineAt(data, invalidAt(data)), "not UTF-8; save it as UTF-8")
	}
	if n := l.apart(data); n > l.Apart {
		return nil, problem(0, "%d bytes apart from data URIs are too many; the limit is %d: attach files instead", n, l.Apart)
	}
	return data, nil
}

// Apart counts the bytes of a text without its data URIs.
func Apart(data []byte) int { return len(data) - inDataURIs(data) }

// apart counts the bytes of a document that count for Limits.Apart.
func (l Limits) apart(data []byte) int {
	if l.Text == 0 || len(data) <= l.Apart {
		return Apart(data)
	}
	n := 0
	for {
		from := bytes.IndexByte(data, '"') + 1
		if from == 0 {
			return n + Apart(data)
		}
		to := from
		for to < len(data) && data[to] != '"' {
			if data[to] == '\\' {
				to++
			}
			to++
		}
		to = min(to+1, len(data))
		n += from
		if to-from <= l.Text {
			n += Apart(data[from:to])
		}
		data = data[to:]
	}
}

func lineAt(data []byte, i int) int { return bytes.Count(data[:i], []byte("\n")) + 1 }

func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

// maxMediaType is the distance after "data:" within which scan looks for ";base64,".
const maxMediaType = 128

// inDataURIs counts the bytes of base64 in data URIs.
func inDataURIs(data []byte) int {
	total := 0
	for {
		i := bytes.Index(data, dataURI)
		if i < 0 {
			return total
		}
		data = data[i+len(dataURI):]
		head := data[:min(len(data), maxMediaType)]
		j := bytes.Index(head, base64Mark)
		if j < 0 {
			continue
		}
		data = data[j+len(base64Mark):]
		n := 0
		for n < len(data) && isBase64(data[n]) {
			n++
		}
		total += n
		data = data[n:]
	}
}

// isBase64 also accepts the backslash, because some programs write JSON with \/.
func isBase64(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' ||
		c == '+' || c == '/' || c == '=' || c == '-' || c == '_' || c == '\\'
}
