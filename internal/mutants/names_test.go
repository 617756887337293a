package mutants_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMutantsNameTests checks that each name in the pattern of a planted fault matches a test of its
// package: a fault is not caught by a test that does not exist.
func TestMutantsNameTests(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	tests := map[string][]string{} // by package
	for _, m := range mutants {
		dir, pattern, _ := strings.Cut(m.tests, " ")
		if tests[dir] == nil {
			files, err := filepath.Glob(filepath.Join(root(t), dir, "*_test.go"))
			if err != nil || len(files) == 0 {
				t.Errorf("%s: %s has no tests: %v", m.name, dir, err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
					tests[dir] = append(tests[dir], found[1])
				}
			}
		}
		for _, one := range strings.Split(pattern, "|") {
			one, _, _ = strings.Cut(one, "/")
			name, err := regexp.Compile("(?m)" + one)
			if err != nil || one == "" {
				t.Errorf("%s: %q is no pattern of tests: %v", m.name, pattern, err)
				continue
			}
			if !name.MatchString(strings.Join(tests[dir], "\n")) {
				t.Errorf("%s: %s has no test %s", m.name, dir, one)
			}
		}
	}
}
