package mutants_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// listed is a package from the output of go list.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// packages returns the packages of the module by folder, and the export data of all imported
// packages by path.
func packages(t *testing.T) (own map[string]listed, exports map[string]string) {
	t.Helper()
	c := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	c.Dir, c.Stderr = root(t), os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	own, exports = map[string]listed{}, map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return own, exports
		} else if err != nil {
			t.Fatal(err)
		}
		own[p.Dir], exports[p.ImportPath] = p, p.Export
	}
}

// Every planted fault compiles.
func TestMutantsAreGo(t *testing.T) {
	own, exports := packages(t)
	set := token.NewFileSet()
	imports := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, m := range mutants {
		changed := m.texts(t)
		for name := range changed {
			p := own[filepath.Dir(name)]
			var files []*ast.File
			for _, f := range p.GoFiles {
				f = filepath.Join(p.Dir, f)
				var text any
				if c, ok := changed[f]; ok {
					text = c
				}
				tree, err := parser.ParseFile(set, f, text, parser.SkipObjectResolution)
				if err != nil {
					t.Fatalf("%s: %v", m.name, err)
				}
				files = append(files, tree)
			}
			conf := types.Config{Importer: imports, Error: func(err error) { t.Errorf("%s: %v", m.name, err) }}
			_, _ = conf.Check(p.ImportPath, set, files, nil) // the Error function reports each error
		}
	}
}
