package messkit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
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

// The tests of cmd/messkit that make unit runs with the race detector exist: RACED of the Makefile.
func TestRacedTestsExist(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^RACED := (.+)$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("Makefile: it has no RACED")
	}
	names, err := filepath.Glob("cmd/messkit/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	for _, name := range strings.Fields(string(list[1])) {
		if !strings.Contains(code.String(), "\nfunc "+name+"(t *testing.T) {") {
			t.Errorf("cmd/messkit has no %s; remove it from RACED of the Makefile", name)
		}
	}
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
