package messkit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// make test runs some packages without the race detector: SINGLE of the Makefile. They are pure in
// the table of layers, and their tests start no goroutine.
func TestPackagesWithoutRaceDetectorHaveOneGoroutine(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^SINGLE := (.+)$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("Makefile: it has no SINGLE")
	}
	for _, dir := range strings.Fields(string(list[1])) {
		dir = filepath.Clean(dir)
		if _, may := layerOf(dir); !may.pure {
			t.Errorf("%s: it is not pure; remove it from SINGLE of the Makefile", dir)
		}
		names, err := filepath.Glob(dir + "/*_test.go")
		if err != nil || len(names) == 0 {
			t.Errorf("%s: it has no tests, %v; remove it from SINGLE of the Makefile", dir, err)
		}
		for _, name := range names {
			if startsGoroutines(t, name) {
				t.Errorf("%s: it starts goroutines; remove its package from SINGLE of the Makefile", name)
			}
		}
	}
}

// The tests of cmd/messkit that skip under the race detector are those that make pages runs without it.
func TestSkippedUnderRaceDetectorRunsWithoutIt(t *testing.T) {
	names, err := filepath.Glob("cmd/messkit/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]map[string]bool{} // of each function
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Recv == nil {
				calls[f.Name.Name] = calledBy(f)
			}
		}
	}
	var skipped []string
	for name := range calls {
		if strings.HasPrefix(name, "Test") && reaches(calls, name, "calculates", "startCommand") {
			skipped = append(skipped, name)
		}
	}
	slices.Sort(skipped)
	out, err := exec.Command("awk", append([]string{"-f", "scripts/unraced.awk"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(out), "|")
	if slices.Sort(got); !slices.Equal(got, skipped) || len(got) < 40 {
		t.Errorf("make pages runs %v, and under the race detector %v skip; make both the same", got, skipped)
	}
}

// calledBy returns the names of the functions that a function calls.
func calledBy(f *ast.FuncDecl) map[string]bool {
	called := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if call, is := n.(*ast.CallExpr); is {
			if name, is := call.Fun.(*ast.Ident); is {
				called[name.Name] = true
			}
		}
		return true
	})
	return called
}

// reaches reports whether a function calls one of the targets, itself or by others.
func reaches(calls map[string]map[string]bool, name string, targets ...string) bool {
	seen := map[string]bool{}
	var visit func(name string) bool
	visit = func(name string) bool {
		if slices.Contains(targets, name) {
			return true
		}
		if seen[name] {
			return false
		}
		seen[name] = true
		for next := range calls[name] {
			if visit(next) {
				return true
			}
		}
		return false
	}
	return visit(name)
}

func startsGoroutines(t *testing.T, name string) (found bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = found || n.Sel.Name == "Parallel" || n.Sel.Name == "Go"
		}
		return true
	})
	return found
}
