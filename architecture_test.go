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

// TestArchitecturePage compares docs/explanation/architecture.md with the code. Every folder and
// file in the page must exist, and every row of its first table must name a function of its
// package.
func TestArchitecturePage(t *testing.T) {
	text, err := os.ReadFile("docs/explanation/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	rows := regexp.MustCompile("(?m)^\\| \\d+ \\|.*\\| `([a-z/]+)` \\| `(\\w+)` \\|$").FindAllStringSubmatch(page, -1)
	if numbered := strings.Count(page, "\n| 1"); len(rows) < 12 || numbered == 0 {
		t.Fatalf("the page has %d rows with a package and a function; want at least 12", len(rows))
	}
	for _, row := range rows {
		if !slices.Contains(functions(t, row[1]), row[2]) {
			t.Errorf("package %s has no function %s", row[1], row[2])
		}
	}
	for _, m := range regexp.MustCompile("[`\"]((?:cmd|internal|agent|exchange|capabilities|drivers|mess|docs|scripts|systemd)(?:/[\\w.*-]+)*)").FindAllStringSubmatch(page, -1) {
		if found, err := filepath.Glob(m[1]); err != nil || len(found) == 0 {
			t.Errorf("the page names %s, which does not exist", m[1])
		}
	}
}

// functions lists the names of the functions and methods of a package.
func functions(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.go")
	if err != nil || len(files) == 0 {
		t.Errorf("%s has no Go files", folder)
	}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// TestEveryCommandHasHandler checks that agent/action has a handler for each command of
// capabilities.AllCommands, and no other one except EarlierImages, which needs no driver.
func TestEveryCommandHasHandler(t *testing.T) {
	list := func(file, begin, pattern string) (names []string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(text), begin)
		block, _, _ := strings.Cut(after, "\n}\n")
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(block, -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		return names
	}
	commands := list("capabilities/command.go", "var AllCommands = []string{", `string\((\w+)\)`)
	handlers := list("agent/action/run.go", "var handlers = map[capabilities.Command]handler{", `capabilities\.(\w+):`)
	handlers = slices.DeleteFunc(handlers, func(name string) bool { return name == "EarlierImages" })
	if len(commands) < 20 || !slices.Equal(commands, handlers) {
		t.Errorf("capabilities.AllCommands has %v, and agent/action handles %v; both must have the same commands", commands, handlers)
	}
}
