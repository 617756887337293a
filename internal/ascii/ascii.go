// Package ascii checks plain names: ASCII letters, digits and a few other characters, short
// enough to be part of paths, URLs and topics. Every message needs such a check, and a
// regular expression that counts to 200 would take 100 KB of memory.
package ascii

import "strings"

// Name reports whether s has 1 to most characters, each a letter or digit of
// ASCII or one of also, the first a letter or digit.
func Name(s string, most int, also string) bool {
	return s != "" && strings.IndexByte(also, s[0]) < 0 && Text(s, most, also)
}

// Text reports whether s has 1 to most characters, each a letter or digit of
// ASCII or one of also.
func Text(s string, most int, also string) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte(also, c) >= 0) {
			return false
		}
	}
	return true
}

// Digits reports whether s has from least to most digits, and nothing else.
func Digits(s string, least, most int) bool {
	if len(s) < least || len(s) > most {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
