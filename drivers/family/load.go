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
	if name == "" {
		return fmt.Errorf("family: is missing; known: %s", known(own, dir))
	}
	if !ascii.Name(name, 64, "-") || strings.ToLower(name) != name {
		return fmt.Errorf("family: %q cannot be one; known: %s", name, known(own, dir))
	}
	where, data, err := find(own, dir, name+".yaml")
	if err != nil {
		return err
	}
	if data == nil {
		return fmt.Errorf("family: %q is unknown; known: %s; put %s.yaml into a folder, and say the folder as families", name, known(own, dir), name)
	}
	return strictyaml.Decode(where, data, out)
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
