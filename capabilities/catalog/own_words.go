package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/strictyaml"
)

// IgnoredWords is a file of words that has a mistake.
type IgnoredWords struct {
	File   string   // or the folder, where nothing of it can be used
	Err    error    // its first mistake, with its line
	More   int      // how many more mistakes it has
	Asking []string // the capabilities that it defines; each now needs a confirmation
	All    bool     // the content is unknown, and Asking has all capabilities that act
}

// String returns the file and its mistake in one line.
func (l IgnoredWords) String() string {
	text := fmt.Sprintf("%s: left out: %v", l.File, l.Err)
	if l.More > 0 {
		text += fmt.Sprintf(" (and %d more)", l.More)
	}
	switch {
	case l.All:
		text += "; until you mend it, each plan that acts needs a confirmation"
	case len(l.Asking) > 0:
		text += "; until you mend it, these need a confirmation: " + strings.Join(l.Asking, ", ")
	}
	return text
}

// BuiltInOnly makes a catalog of the built-in files alone, for an unreadable folder, and
// says why. The folder may have made any capability stricter, so each plan that acts needs
// a confirmation.
func BuiltInOnly(folder string, cause error) (*Catalog, []IgnoredWords) {
	c, err := newBuilder().load(English())
	if err != nil {
		panic(err) // the files are part of the program
	}
	return c, []IgnoredWords{{File: folder, Err: cause, All: true, Asking: c.strict(func(string) bool { return true })}}
}

// maxTries bounds how often LoadWords builds the catalog again.
const maxTries = 8

// LoadWords makes a catalog of the built-in files and the files of tree. It leaves out each
// file of tree with a mistake, so that there always is a catalog. Such a file may have made
// a capability stricter, so each plan of a capability that it defines needs a confirmation.
func LoadWords(tree fs.FS) (*Catalog, []IgnoredWords) {
	leave := map[string]IgnoredWords{}
	for range maxTries {
		b := newBuilder()
		b.lenient, b.leave = true, leave
		c, err := b.load(English(), tree)
		if err == nil {
			left := slices.SortedFunc(maps.Values(leave), func(a, b IgnoredWords) int { return strings.Compare(a.File, b.File) })
			for i := range left {
				left[i].Asking = c.asking(tree, left[i].File)
			}
			return c, left
		}
		if !b.markBroken(err) {
			break
		}
	}
	return withoutFolder(tree)
}

// withoutFolder returns the catalog of the built-in files alone.
func withoutFolder(tree fs.FS) (*Catalog, []IgnoredWords) {
	b := newBuilder()
	b.lenient = true
	_, err := b.load(English(), tree)
	c, wrong := newBuilder().load(English())
	if wrong != nil {
		panic(wrong) // the files are part of the program
	}
	all := IgnoredWords{File: displayPath(tree, "."), Err: errors.New(firstOf(err))}
	for _, file := range slices.Sorted(maps.Keys(b.own)) {
		if b.own[file] {
			all.Asking = append(all.Asking, c.asking(tree, file)...)
		}
	}
	slices.Sort(all.Asking)
	all.Asking = slices.Compact(all.Asking)
	return c, []IgnoredWords{all}
}

// markBroken notes the files of the tree that have mistakes. It reports whether there are new
// ones.
func (b *builder) markBroken(err error) (found bool) {
	problems, _ := errors.AsType[strictyaml.Problems](err)
	before := maps.Clone(b.leave)
	for _, p := range problems {
		if !b.own[p.File] {
			continue
		}
		if _, known := before[p.File]; known {
			continue
		}
		l, again := b.leave[p.File]
		if again {
			l.More++
		} else {
			l = IgnoredWords{File: p.File, Err: errors.New(p.Text)}
			if p.Line > 0 {
				l.Err = fmt.Errorf("line %d: %s", p.Line, p.Text)
			}
		}
		b.leave[p.File], found = l, true
	}
	return found
}

// firstOf returns the first line of an error.
func firstOf(err error) string {
	text, _, _ := strings.Cut(fmt.Sprint(err), "\n")
	return text
}

// asking adds a confirmation to the capabilities that a left out file defines, and lists
// them. If the file is unreadable, it takes all capabilities.
func (c *Catalog) asking(tree fs.FS, file string) (list []string) {
	name := file
	if n, ok := tree.(named); ok {
		name = strings.TrimPrefix(strings.TrimPrefix(file, path.Clean(n.path)), "/")
	}
	data, err := fs.ReadFile(tree, name)
	return c.strict(func(id string) bool { return err != nil || defines(string(data), id) })
}

// strict adds a confirmation to capabilities that act, and lists them.
func (c *Catalog) strict(which func(id string) bool) (list []string) {
	for _, one := range c.Capabilities {
		if one.Effect != capabilities.Query && which(one.ID) {
			one.Risk, one.Risks = capabilities.RiskIrreversible, nil
			list = append(list, one.ID)
		}
	}
	return list
}

// defines reports whether a file, which may be no YAML, has an entry with the ID.
func defines(text, id string) bool {
	for line := range strings.Lines(text) {
		for {
			_, rest, ok := strings.Cut(line, "id:")
			if !ok {
				break
			}
			value := strings.TrimLeft(rest, " \t\"'")
			if rest, is := strings.CutPrefix(value, id); is && (rest == "" || !isIDByte(rest[0])) {
				return true
			}
			line = rest
		}
	}
	return false
}

func isIDByte(c byte) bool {
	return c == '-' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
}
