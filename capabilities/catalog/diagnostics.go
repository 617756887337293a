package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/messkit/messkit/internal/strictyaml"
)

// named is a tree with a path of its own in messages.
type named struct {
	fs.FS
	path string
}

// WithPathInErrors returns a tree that has the path in messages.
func WithPathInErrors(tree fs.FS, path string) fs.FS { return named{tree, path} }

// displayPath returns the path of a file for messages.
func displayPath(tree fs.FS, name string) string {
	if n, ok := tree.(named); ok {
		return path.Join(n.path, name)
	}
	return path.Join("capabilities", name)
}

// source is a file that the builder has read.
type source struct {
	file string
	root *strictyaml.Value
}

// addError notes an error, with the line of its subject.
func (b *builder) addError(format string, args ...any) {
	p := strictyaml.Problem{Text: fmt.Errorf(format, args...).Error()}
	if rest, ok := strings.CutPrefix(format, "%s:%d: "); ok { // it says where
		p.File, p.Line = args[0].(string), args[1].(int)
		p.Text = fmt.Errorf(rest, args[2:]...).Error()
	} else {
		p.File, p.Line = b.place(format, args)
	}
	for _, old := range b.problems { // report each parse error only once
		if ps, ok := errors.AsType[strictyaml.Problems](old); ok && p.Line > 0 {
			for _, one := range ps {
				if one.File == p.File && one.Line == p.Line {
					return
				}
			}
		}
	}
	b.mistakes = append(b.mistakes, p)
}

// place returns where the words of a mistake stand: in the entry of its subject, otherwise
// anywhere in the last file.
func (b *builder) place(format string, args []any) (file string, line int) {
	what, _, _ := strings.Cut(format, " ")
	for i := len(b.sources) - 1; i >= 0; i-- {
		s, v, rest := b.sources[i], b.sources[i].root, args
		switch what {
		case "capability":
			v, rest = entryOf(v.Get("capabilities"), fmt.Sprint(args[0])), args[1:]
		case "rule":
			if v = v.Get("rules"); v != nil {
				v, rest = v.Get(fmt.Sprint(args[0])), nil
			}
		case "frames:":
			v, rest = b.frameOf(i, args[0].(int)), args[1:]
		}
		if v == nil {
			continue
		}
		for _, key := range keysOf(format) {
			if at := v.Get(key); at != nil {
				return s.file, at.Line
			}
		}
		for _, arg := range rest {
			says := func(text string) bool { return text == fmt.Sprint(arg) }
			if err, ok := arg.(error); ok { // it quotes what it is about
				says = func(text string) bool { return strings.Contains(err.Error(), strconv.Quote(text)) }
			}
			if line := lineOf(v, says); line > 0 {
				return s.file, line
			}
		}
		if what == "capability" || what == "rule" || what == "frames:" {
			return s.file, v.Line
		}
	}
	return "", 0
}

// keysOf returns the words of a format before its verbs: "effect %s" is about the effect.
func keysOf(format string) []string {
	var keys []string
	words := strings.Fields(format)
	for i, w := range words[:max(0, len(words)-1)] {
		if strings.HasPrefix(words[i+1], "%") {
			keys = append(keys, w)
		}
		if key, _, ok := strings.Cut(w, "."); ok { // "args.on is %v"
			keys = append(keys, key)
		}
	}
	return keys
}

// entryOf returns the last entry with the ID in a list of capabilities.
func entryOf(list *strictyaml.Value, id string) (found *strictyaml.Value) {
	if list == nil {
		return nil
	}
	for _, v := range list.List {
		if is := v.Get("id"); is != nil && is.Text == id || is == nil && id == "" {
			found = v
		}
	}
	return found
}

// frameOf returns the nth frame of all, from 1, if it stands in source i.
func (b *builder) frameOf(i, n int) *strictyaml.Value {
	for k, s := range b.sources[:i+1] {
		list := s.root.Get("frames")
		switch {
		case list == nil:
		case n > len(list.List):
			n -= len(list.List)
		case k == i:
			return list.List[n-1]
		default:
			return nil
		}
	}
	return nil
}

// lineOf returns the line of a text below v, as a value or a key, or 0 if there is none.
func lineOf(v *strictyaml.Value, says func(string) bool) int {
	if v.Text != "" && says(v.Text) {
		return v.Line
	}
	for _, one := range v.List {
		if line := lineOf(one, says); line > 0 {
			return line
		}
	}
	for _, p := range v.Pairs {
		if says(p.Key) {
			return p.Line
		}
		if line := lineOf(p.Value, says); line > 0 {
			return line
		}
	}
	return 0
}

// err returns all mistakes, file by file.
func (b *builder) err() error {
	all := b.mistakes
	for _, err := range b.problems {
		if ps, ok := errors.AsType[strictyaml.Problems](err); ok {
			all = append(all, ps...)
		} else {
			all = append(all, strictyaml.Problem{Text: err.Error()})
		}
	}
	return all.Err()
}
