package httpclient

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// Challenge is one login method that a server offers (RFC 9110 §11.6.1).
type Challenge struct {
	scheme string            // in lower case
	token  string            // token68, as NTLM uses it
	params map[string]string // names in lower case, values without quotes
}

// String returns the challenge in the notation of the header.
func (c Challenge) String() string {
	if c.token != "" {
		return c.scheme + " " + c.token
	}
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(c.params)) {
		fields = append(fields, name+"="+quoted(c.params[name]))
	}
	return strings.TrimSpace(c.scheme + " " + strings.Join(fields, ", "))
}

// quoted returns s as a quoted-string (RFC 9110 §5.6.4).
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

var errChallenge = errors.New("invalid WWW-Authenticate header")

// parseChallenges parses one WWW-Authenticate header, which may contain several challenges.
// Values without quotes may contain any visible character, because some devices omit the
// quotes.
func parseChallenges(s string) ([]Challenge, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return nil, errChallenge
	}
	l := lexer{s}
	var all []Challenge
	for l.skip(" \t,"); l.rest != ""; l.skip(" \t,") {
		c := Challenge{scheme: strings.ToLower(l.token()), params: map[string]string{}}
		if c.scheme == "" || l.rest != "" && !strings.Contains(" \t,", l.rest[:1]) {
			return nil, errChallenge
		}
		if err := l.fill(&c); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// lexer consumes a header from its start.
type lexer struct{ rest string }

func (l *lexer) skip(chars string) { l.rest = strings.TrimLeft(l.rest, chars) }

// token consumes a token of RFC 9110 §5.6.2; "" if there is none.
func (l *lexer) token() string {
	return l.until(func(r rune) bool { return !isTokenChar(r) })
}

func (l *lexer) until(stop func(rune) bool) string {
	end := strings.IndexFunc(l.rest, stop)
	if end < 0 {
		end = len(l.rest)
	}
	t := l.rest[:end]
	l.rest = l.rest[end:]
	return t
}

func isTokenChar(r rune) bool {
	return r > ' ' && r < 0x7f && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// fill parses the parameters of c up to the next challenge.
func (l *lexer) fill(c *Challenge) error {
	l.skip(" \t")
	if t := l.token68(); t != "" {
		c.token = t
		return nil
	}
	for l.skip(" \t,"); l.rest != ""; l.skip(" \t,") {
		before := l.rest
		name := strings.ToLower(l.token())
		l.skip(" \t")
		if name == "" {
			return errChallenge
		}
		if !strings.HasPrefix(l.rest, "=") {
			l.rest = before // the name is the next scheme
			return nil
		}
		l.rest = l.rest[1:]
		value, ok := l.value()
		if _, twice := c.params[name]; twice || !ok {
			return errChallenge
		}
		c.params[name] = value
	}
	return nil
}

// token68 consumes a token68 that extends to the next comma; "" if a parameter follows.
func (l *lexer) token68() string {
	word, _, _ := strings.Cut(l.rest, ",")
	word = strings.TrimRight(word, " \t")
	body := strings.TrimRight(word, "=")
	if body == "" || strings.ContainsFunc(body, func(r rune) bool { return !isToken68Char(r) }) {
		return ""
	}
	l.rest = l.rest[len(word):]
	return word
}

func isToken68Char(r rune) bool {
	return r < 0x7f && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~+/", r))
}

// value consumes a quoted-string, or else the text up to the next comma or blank.
func (l *lexer) value() (string, bool) {
	l.skip(" \t")
	if !strings.HasPrefix(l.rest, `"`) {
		v := l.until(func(r rune) bool { return strings.ContainsRune(" \t,\"", r) })
		return v, !strings.HasPrefix(l.rest, `"`)
	}
	var b strings.Builder
	for i := 1; i < len(l.rest); i++ {
		switch ch := l.rest[i]; {
		case ch == '"':
			l.rest = l.rest[i+1:]
			return b.String(), true
		case ch == '\\' && i+1 < len(l.rest):
			i++
			b.WriteByte(l.rest[i])
		default:
			b.WriteByte(ch)
		}
	}
	return "", false
}
