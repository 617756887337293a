package printer

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/order"
)

// maxFiles limits the number of files.
const maxFiles = 500

// file is a printable file.
type file struct{ name, path string }

// Areas returns the files, by the names of the configuration or by their own names.
func (p *Printer) Areas(ctx context.Context) ([]drivers.Area, error) {
	files, err := drivers.DoValue(ctx, &p.Base, p.files)
	list := make([]drivers.Area, len(files))
	for i, f := range files {
		list[i] = drivers.Area{Name: f.name}
	}
	return list, err
}

func (p *Printer) files(ctx context.Context) ([]file, error) {
	if len(p.cfg.Files) > 0 {
		var list []file
		for _, name := range slices.Sorted(maps.Keys(p.cfg.Files)) {
			list = append(list, file{name, p.cfg.Files[name]})
		}
		return list, nil
	}
	there, err := p.is.files(ctx)
	if err != nil {
		return nil, err
	}
	return byName(there), nil
}

// byName gives each file a name that people can say: the shortest that is unique. Slicers
// append the layer height, the material and the duration.
func byName(there []listed) []file {
	there = slices.DeleteFunc(slices.Clone(there), func(f listed) bool { return !inside(f.path) || spoken(stem(f.label)) == "" })
	order.By(there, func(a, b listed) int { return strings.Compare(a.path, b.path) })
	there = slices.CompactFunc(there, func(a, b listed) bool { return a.path == b.path })
	count := map[string]int{}
	for _, f := range there {
		for _, name := range slices.Compact([]string{short(f.label), spoken(stem(f.label))}) {
			count[name]++
		}
	}
	var list []file
	taken := map[string]bool{}
	for _, f := range there {
		for _, name := range []string{short(f.label), spoken(stem(f.label)), spoken(strings.TrimSuffix(f.label, path.Ext(f.label))), spoken(f.path)} {
			if count[name] <= 1 && !taken[name] && len(list) < maxFiles {
				taken[name] = true
				list = append(list, file{name, f.path})
				break
			}
		}
	}
	return list
}

// short returns the name of a file up to the first word that begins with a digit: benchy
// for benchy_0.2mm_PLA_1h35m.gcode.
func short(label string) string {
	words := strings.Fields(spoken(stem(label)))
	for i, w := range words {
		if i > 0 && w[0] >= '0' && w[0] <= '9' {
			return strings.Join(words[:i], " ")
		}
	}
	return strings.Join(words, " ")
}

// stem returns the name of a file without folder and extension.
func stem(f string) string { return strings.TrimSuffix(path.Base(f), path.Ext(f)) }

// find returns the path of a file by its name.
func (p *Printer) find(ctx context.Context, name string) (string, error) {
	files, err := p.files(ctx)
	if err != nil {
		return "", err
	}
	names := make([]string, len(files))
	for i, f := range files {
		if f.name == name {
			return f.path, nil
		}
		names[i] = f.name
	}
	if len(names) == 0 {
		return "", fmt.Errorf("the printer has no file; upload one")
	}
	return "", fmt.Errorf("the printer has no file %q; known files: %s", name, strings.Join(names[:min(len(names), 20)], ", "))
}
