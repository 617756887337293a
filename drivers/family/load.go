package family

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/messkit/messkit/internal/ascii"
	"github.com/messkit/messkit/internal/strictyaml"
)

const maxFile = 64 << 10 // bytes of a template

// Own are the templates that come with a driver, in its folder families.
func Own(files embed.FS) fs.FS {
	own, err := fs.Sub(files, "families")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return own
}

// Load reads the template of a family over what is in out: NAME.yaml of the
// folder dir, where it is there, else that of the program. Mistakes in a file
// are told with its lines; others begin with the key family or families.
func Load(own fs.FS, dir, name string, out any) error {
	where, data, err := text(own, dir, name)
	if err != nil {
		return err
	}
	return strictyaml.Decode(where, data, out)
}

// text reads the file of a family.
func text(own fs.FS, dir, name string) (where string, data []byte, err error) {
	switch {
	case name == "":
		return "", nil, fmt.Errorf("family: is missing; known: %s", known(own, dir))
	case !ascii.Name(name, 64, "-") || strings.ToLower(name) != name:
		return "", nil, fmt.Errorf("family: %q cannot be one; known: %s", name, known(own, dir))
	}
	where, data, err = find(own, dir, name+".yaml")
	if err == nil && data == nil {
		err = fmt.Errorf("family: %q is unknown; known: %s; put %s.yaml into a folder, and say the folder as families", name, known(own, dir), name)
	}
	return where, data, err
}

// Templates holds the templates that a driver has read. Devices of a family share its
// template, and do not change it. The zero value is ready for use.
type Templates[T any] struct {
	mu   sync.Mutex
	read map[string]*T // by the file's name and text
}

// Load reads a template as the function Load does. It decodes a file once while its text
// stays the same.
func (t *Templates[T]) Load(own fs.FS, dir, name string) (*T, error) {
	where, data, err := text(own, dir, name)
	if err != nil {
		return nil, err
	}
	key := where + "\n" + string(data)
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.read[key]; one != nil {
		return one, nil
	}
	one := new(T)
	if err := strictyaml.Decode(where, data, one); err != nil {
		return nil, err
	}
	if t.read == nil {
		t.read = map[string]*T{}
	}
	t.read[key] = one
	return one, nil
}

// Besides adds the mistakes in the template of a configuration to those in the
// configuration, so that all are told at once.
func (s Settings) Besides(err error, own fs.FS, out any) error {
	mistakes, ok := errors.AsType[strictyaml.Problems](err)
	more, too := errors.AsType[strictyaml.Problems](Load(own, s.Families, s.Family, out))
	if !ok || !too {
		return err
	}
	return append(mistakes, more...)
}

// find returns nil where there is no such file.
func find(own fs.FS, dir, name string) (where string, data []byte, err error) {
	if dir != "" {
		data, err := readIn(dir, name)
		if !errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(dir, name), data, err
		}
		if _, err := os.Stat(dir); err != nil {
			return "", nil, fmt.Errorf("families: %w; write the folder with your templates", err)
		}
	}
	data, err = fs.ReadFile(own, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	return name, data, err
}

func readIn(dir, name string) (data []byte, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if data, err = io.ReadAll(io.LimitReader(f, maxFile+1)); err == nil && len(data) > maxFile {
		err = fmt.Errorf("families: %s has more than %d bytes; is it a template?", name, maxFile)
	}
	return data, err
}

// Names lists the families of a program and of a folder.
func Names(own fs.FS, dir string) []string {
	names, _ := fs.Glob(own, "*.yaml") // the pattern is well formed
	if dir != "" {
		more, _ := filepath.Glob(filepath.Join(dir, "*.yaml"))
		names = append(names, more...)
	}
	for i, n := range names {
		names[i] = strings.TrimSuffix(path.Base(filepath.ToSlash(n)), ".yaml")
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func known(own fs.FS, dir string) string { return strings.Join(Names(own, dir), ", ") }
