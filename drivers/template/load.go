package template

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

// BuiltIn returns the templates that are part of a driver, in its folder families.
func BuiltIn(files embed.FS) fs.FS {
	own, err := fs.Sub(files, "families")
	if err != nil {
		panic(err) // cannot fail, because the folder is embedded
	}
	return own
}

// Load decodes the template of a family into out, over its present values. It reads
// NAME.yaml from the folder dir, or else from own. Errors in a file contain its lines.
// Other errors begin with the key family or families.
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
		return "", nil, fmt.Errorf("family: %q is not a valid name; known: %s", name, known(own, dir))
	}
	where, data, err = find(own, dir, name+".yaml")
	if err == nil && data == nil {
		err = fmt.Errorf("family: %q is unknown; known: %s; or put %s.yaml into a folder, and write the folder as families", name, known(own, dir), name)
	}
	return where, data, err
}

// Templates caches the templates of a driver. Devices of a family share its template and
// must not change it. The zero value is ready for use. It is safe for concurrent use.
type Templates[T any] struct {
	mu   sync.Mutex
	read map[string]*T // key: name and text of the file
}

// Load reads a template like the function Load. It decodes a file again only if its text
// has changed.
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

// JoinTemplateErrors adds the errors in the template of a configuration to the errors in the
// configuration, so that the user sees all at once.
func (s Settings) JoinTemplateErrors(err error, own fs.FS, out any) error {
	mistakes, ok := errors.AsType[strictyaml.Problems](err)
	more, too := errors.AsType[strictyaml.Problems](Load(own, s.Families, s.Family, out))
	if !ok || !too {
		return err
	}
	return append(mistakes, more...)
}

// find returns nil data if no such file exists.
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
		err = fmt.Errorf("families: %s has more than %d bytes; write the folder of your templates", name, maxFile)
	}
	return data, err
}

// Names lists the families in own and in the folder dir.
func Names(own fs.FS, dir string) []string {
	names, _ := fs.Glob(own, "*.yaml") // the pattern is valid
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

// Head contains the keys of every template. Templates embed it.
type Head struct {
	About string           `yaml:"about"`
	Docs  string           `yaml:"docs"`  // address of the manufacturer's description of the messages
	Class string           `yaml:"class"` // light, plug, ...
	With  map[string]Param `yaml:"with"`
}

// Check returns the errors in the settings of a device. It reports no errors in a template of
// the user, because the driver reports them when it opens the device.
func (t *Templates[T]) Check(own fs.FS, s Settings, params func(*T) map[string]Param) []error {
	one, err := t.Load(own, s.Families, s.Family)
	if _, users := errors.AsType[strictyaml.Problems](err); users {
		return nil
	}
	if err != nil {
		return []error{err}
	}
	_, errs := Resolve(params(one), s.With)
	return errs
}
