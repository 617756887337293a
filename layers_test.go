package messkit_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/messkit/messkit/"

// imports specifies what one package may import beyond the standard library. The lists have spaces
// between their entries.
type imports struct {
	pure    bool   // no clock, file, network, log or goroutine
	own     string // packages of this module; "x/*" is every folder in x
	modules string // modules of others
}

// layers is the table of permitted imports, from the lowest layer to the highest. A package imports
// only packages of its own layer or of a lower one. A package that is not in the table fails the
// test. "x/*" stands for each folder in x without its own line.
var layers = []map[string]imports{languageLayer, componentLayer, actorLayer, programLayer}

// impure is the list of packages that a pure package must not import. It includes the packages
// below them.
var impure = []string{
	"crypto/rand", "log", "math/rand", "net", "os", "os/exec", "runtime", "syscall", "unsafe",
}

// clocks are the functions of package time that use a clock.
var clocks = []string{
	"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker",
}

func TestImportsFollowLayers(t *testing.T) {
	found := packages(t)
	if len(found) == 0 {
		t.Fatal("no packages found; the test must run in the module's root")
	}
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		at, may := layerOf(pkg)
		if at < 0 {
			t.Errorf("%s: no layer has it; add it to layers_lower_test.go or layers_upper_test.go", pkg)
			continue
		}
		for _, own := range strings.Fields(may.own) {
			if above, _ := layerOf(own); above > at {
				t.Errorf("%s is in a lower layer than %s; it must not import it", pkg, own)
			}
		}
		for _, file := range found[pkg] {
			checkImports(t, pkg, may, file)
			if may.pure {
				checkPure(t, pkg, file)
			}
		}
	}
}

// layerOf returns the number of the layer of a package, and its permitted imports; -1 if the table
// does not have it.
func layerOf(pkg string) (int, imports) {
	for _, name := range []string{pkg, path.Dir(pkg) + "/*"} {
		for at, packages := range layers {
			if may, ok := packages[name]; ok {
				return at, may
			}
		}
	}
	return -1, imports{}
}

// packages parses every file that is not a test, for every operating system. The keys are the
// folders of the packages.
func packages(t *testing.T) map[string][]*ast.File {
	t.Helper()
	found := map[string][]*ast.File{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(name, d)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		pkg := filepath.ToSlash(filepath.Dir(name))
		found[pkg] = append(found[pkg], f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// skip returns fs.SkipDir for folders that are not part of the module.
func skip(name string, d fs.DirEntry) error {
	hidden := len(d.Name()) > 1 && strings.HasPrefix(d.Name(), ".")
	if hidden || d.Name() == "testdata" || name == "tools" || name == "firmware-examples" {
		return fs.SkipDir
	}
	return nil
}

func checkImports(t *testing.T, pkg string, may imports, file *ast.File) {
	t.Helper()
	for _, spec := range file.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		own, ours := strings.CutPrefix(imp+"/", module)
		own = cmp.Or(strings.TrimSuffix(own, "/"), ".")
		switch {
		case ours && !allowed(may.own, own):
			t.Errorf("%s imports %s, but its layer does not list that", pkg, own)
		case !ours && isModule(imp) && !slices.ContainsFunc(strings.Fields(may.modules), within(imp)):
			t.Errorf("%s imports %s; if it must, add it to its layer and to docs/decisions", pkg, imp)
		case may.pure && slices.ContainsFunc(impure, within(imp)):
			t.Errorf("%s imports %s, but is pure: no clock, file, network, log or goroutine", pkg, imp)
		}
	}
}

// isModule reports whether a package is in a module of others, and not in the standard library.
func isModule(imp string) bool {
	host, _, _ := strings.Cut(imp, "/")
	return strings.Contains(host, ".")
}

// allowed reports whether a list of packages contains pkg, by name or by "x/*".
func allowed(list, pkg string) bool {
	own := strings.Fields(list)
	return slices.Contains(own, pkg) || slices.Contains(own, path.Dir(pkg)+"/*")
}

// within returns a function that reports whether imp is in a module or folder.
func within(imp string) func(string) bool {
	return func(outer string) bool { return imp == outer || strings.HasPrefix(imp, outer+"/") }
}

func checkPure(t *testing.T, pkg string, file *ast.File) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			t.Errorf("%s starts a goroutine, but is pure", pkg)
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && x.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
				t.Errorf("%s uses time.%s, but is pure: let the caller pass the time", pkg, n.Sel.Name)
			}
		}
		return true
	})
}

// maxFiles is the largest number of files of a package, without its tests. A reader finds a behavior
// by the names of the files.
const maxFiles = 15

// TestPackagesAreSmall counts the files of each package, for every operating system. The linter
// limits the lines of a file.
func TestPackagesAreSmall(t *testing.T) {
	found := packages(t)
	if len(found) < 50 {
		t.Fatalf("found only %d packages; the test must run in the module's root", len(found))
	}
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		if n := len(found[pkg]); n > maxFiles {
			t.Errorf("%s has %d files, and the limit is %d; join files of one subject, or make a package of one part", pkg, n, maxFiles)
		}
	}
}
