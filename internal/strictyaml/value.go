// Package strictyaml reads YAML and JSON from other parties into a plain tree with line numbers.
// It prints such trees, and decodes configuration files over their defaults. It rejects the
// surprising or costly features of YAML: anchors, aliases, tags, merge keys, duplicate keys and
// deep nesting.
//
// Only this package uses a YAML library. It does not know messages, devices or files.
package strictyaml

// Kind is the type of a Value.
type Kind uint8

// The kinds of values: those of JSON.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Map
)

// kindNames are for error messages.
var kindNames = [...]string{"nothing", "true or false", "a number", "text", "a list", "a mapping"}

func (k Kind) String() string { return kindNames[k] }

// Value is one value of a document.
type Value struct {
	Kind  Kind
	Text  string   // Bool: true or false; Number: as written, in JSON's grammar; String: the text
	List  []*Value // List
	Pairs []Pair   // Map, in the order written
	Line  int      // first line, from 1; 0 for a value from a program

	Column int // in its line, in characters from 1; 0 if unknown, as in JSON
}

// Pair is one key of a Map and its value.
type Pair struct {
	Key    string
	Line   int
	Column int // as that of a Value
	Value  *Value
}

// place is a position in a text. Its zero value is unknown.
type place struct{ line, column int }

func (v *Value) place() place { return place{v.Line, v.Column} }

func (p Pair) place() place { return place{p.Line, p.Column} }

// Get returns the value of a key of a Map, nil if there is none.
func (v *Value) Get(key string) *Value {
	value, _ := pair(v, key)
	return value
}

// Text values made from Go.

// Str returns a String.
func Str(s string) *Value { return &Value{Kind: String, Text: s} }

// Num returns a Number; s must be in JSON's grammar.
func Num(s string) *Value { return &Value{Kind: Number, Text: s} }

// Truth returns a Bool.
func Truth(b bool) *Value {
	if b {
		return &Value{Kind: Bool, Text: "true"}
	}
	return &Value{Kind: Bool, Text: "false"}
}

// Add appends a pair to a Map.
func (v *Value) Add(key string, value *Value) {
	v.Pairs = append(v.Pairs, Pair{Key: key, Value: value})
}
