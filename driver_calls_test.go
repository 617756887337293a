package messkit_test

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
	"slices"
	"strings"
	"testing"
)

// directCalls lists the functions outside of agent/policy that call a device, with the method. All
// of them only read.
var directCalls = []string{
	"agent/resolver.readSpots calls AreaLister.Areas",  // within areasWithin; it lists rooms and files
	"agent/device.Use calls Inspector.Inspect",         // the self-test, on a device that nobody has started
	"agent/device.haltedState calls RestReader.AtRest", // the self-test, on a halted device
	"agent/device.haltedState calls SafeReader.Safe",   // the self-test, on a halted device
}

// TestDriverCallsPassPolicy checks that only agent/policy calls devices: the methods of an interface
// in package drivers that take a context, and those that open and end a device. directCalls has the
// exceptions; each of them must exist.
func TestDriverCallsPassPolicy(t *testing.T) {
	calls, inPolicy := driverCalls(t)
	if len(inPolicy) < 30 {
		t.Errorf("the test finds %d driver calls in agent/policy; want 30 or more", len(inPolicy))
	}
	for _, call := range calls {
		if !slices.Contains(directCalls, call) {
			t.Errorf("%s, and only agent/policy may call a device; add a method to policy.Pass, and call that", call)
		}
	}
	for _, call := range directCalls {
		if !slices.Contains(calls, call) {
			t.Errorf("directCalls lists %q, which the code does not have; remove it", call)
		}
	}
}

// driverCalls returns the calls of devices in the executor and the program: outside of agent/policy,
// and in it.
func driverCalls(t *testing.T) (outside, inPolicy []string) {
	t.Helper()
	own, exports := listPackages(t, "./agent/...", "./internal/daemon/...", "./internal/config/...", "./internal/cli/...")
	set := token.NewFileSet()
	imports := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range own {
		var files []*ast.File
		for _, name := range p.GoFiles {
			tree, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, tree)
		}
		info := types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
		if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, set, files, &info); err != nil {
			t.Fatal(err)
		}
		folder := strings.TrimPrefix(p.ImportPath, module)
		for _, file := range files {
			for _, decl := range file.Decls {
				for _, method := range driverMethods(decl, info.Selections) {
					if folder == "agent/policy" {
						inPolicy = append(inPolicy, method)
						continue
					}
					outside = append(outside, folder+"."+declName(decl)+" calls "+method)
				}
			}
		}
	}
	return outside, inPolicy
}

// driverMethods returns the methods of devices that a declaration calls, or passes on.
func driverMethods(decl ast.Decl, selections map[*ast.SelectorExpr]*types.Selection) (methods []string) {
	ast.Inspect(decl, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || selections[s] == nil {
			return true
		}
		m, ok := selections[s].Obj().(*types.Func)
		if !ok || m.Pkg() == nil || m.Pkg().Path() != module+"drivers" {
			return true
		}
		f := m.Signature()
		if !types.IsInterface(f.Recv().Type()) {
			return true
		}
		opens := slices.Contains([]string{"Start", "Halt", "Detach"}, m.Name())
		takesContext := f.Params().Len() > 0 && f.Params().At(0).Type().String() == "context.Context"
		if opens || takesContext {
			owner := f.Recv().Type().String()
			methods = append(methods, strings.TrimPrefix(owner, module+"drivers.")+"."+m.Name())
		}
		return true
	})
	return methods
}

// declName returns the name of a function, and "" for other declarations.
func declName(decl ast.Decl) string {
	if f, ok := decl.(*ast.FuncDecl); ok {
		return f.Name.Name
	}
	return ""
}

// listedPackage is a package from the output of go list.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// listPackages returns the packages of some patterns, and the files with the types of all packages
// that they import, by import path.
func listPackages(t *testing.T, patterns ...string) (own []listedPackage, exports map[string]string) {
	t.Helper()
	c := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly"}, patterns...)...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports = map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return own, exports
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			own = append(own, p)
		}
	}
}
