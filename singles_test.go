package messkit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
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

// The tests of cmd/messkit that skip under the race detector are those that make test runs without it.
func TestSkippedUnderRaceDetectorRunsWithoutIt(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`\./cmd/messkit -run '\^\((.+)\)\$\$'`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("Makefile: it runs no tests of cmd/messkit without the race detector")
	}
	want := strings.Split(string(list[1]), "|")
	names, err := filepath.Glob("cmd/messkit/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var skipped []string
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`func (Test\w+)\(t \*testing\.T\) \{\n\tcalculates\(t\)`).FindAllSubmatch(text, -1) {
			skipped = append(skipped, string(found[1]))
		}
	}
	slices.Sort(want)
	slices.Sort(skipped)
	if !slices.Equal(skipped, want) {
		t.Errorf("%v call calculates, and the Makefile runs %v; make both the same", skipped, want)
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
