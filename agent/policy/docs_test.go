package policy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/reference/safety-policy.md documents every rule by which the policy rejects something.
func TestEveryRuleIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/reference/safety-policy.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	rule, found := regexp.MustCompile(`Rule: "([a-z_]+)"`), 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range rule.FindAllStringSubmatch(string(text), -1) {
			if found++; !regexp.MustCompile("(?m)^\\| \\[?`" + m[1] + "`").Match(doc) {
				t.Errorf("%s: the rule %s is not in docs/reference/safety-policy.md", file, m[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("%d rules found; the test looks for the wrong thing", found)
	}
}
