package messkit_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// namedTests finds the tests that a command runs by name. Only Test names count: a pattern of
// benchmarks has no such prefix.
var namedTests = regexp.MustCompile(`(?:-run[ =]|-test\.run(?:=|", "|[ ])|tests=)['"]?\^?((?:Test|Fuzz)[A-Za-z0-9_(|)]+)`)

// alternatives are the names of a pattern with one group.
func alternatives(pattern string) (names []string) {
	before, group, ok := strings.Cut(pattern, "(")
	if !ok {
		return strings.Split(pattern, "|")
	}
	group, after, _ := strings.Cut(group, ")")
	for _, name := range strings.Split(group, "|") {
		names = append(names, before+name+after)
	}
	return names
}

// TestNamedTestsExist checks that a test exists for each name in the Makefile, the scripts and the
// tests that start themselves: go test passes without a word if no test has the name.
func TestNamedTestsExist(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "Makefile", "scripts", "*_test.go", "docs", "*.md", ".ci").Output()
	if err != nil {
		t.Skipf("git cannot list the files: %v", err)
	}
	var tests []string
	named := map[string]string{} // where by name
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, file := range strings.Fields(string(out)) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
				tests = append(tests, m[1])
			}
		}
		for _, m := range namedTests.FindAllStringSubmatch(string(text), -1) {
			for _, name := range alternatives(m[1]) {
				named[name] = file
			}
		}
	}
	if len(named) < 20 {
		t.Errorf("only %d names were found: %v", len(named), named)
	}
	all := "\n" + strings.Join(tests, "\n")
	for name, file := range named {
		if !strings.Contains(all, "\n"+name) {
			t.Errorf("%s runs %s, and no test has that name", file, name)
		}
	}
}
