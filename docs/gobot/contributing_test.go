package gobot_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestContributing follows CONTRIBUTING.md: it makes a new driver in a copy, whose tests pass at
// once, puts the files of the example in their places, runs their tests, builds messkit, and
// checks the configuration. Every make target that the page names exists.
func TestContributing(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, filepath.Join(root, "CONTRIBUTING.md"))
	makefile := read(t, filepath.Join(root, "Makefile"))
	for _, m := range regexp.MustCompile("`make ([a-z/-]+)`").FindAllStringSubmatch(page, -1) {
		if !regexp.MustCompile(`(?m)^` + m[1] + `\b.*:`).MatchString(makefile) {
			t.Errorf("CONTRIBUTING.md names make %s; the Makefile has no such target", m[1])
		}
	}
	if testing.Short() {
		t.Skip("builds messkit")
	}
	dir := t.TempDir()
	tree := newDriver(t, root, "thermalzone")
	replace := map[string]string{filepath.Join(root, "drivers/all/all.go"): filepath.Join(tree, "drivers/all/all.go")}
	for i, m := range regexp.MustCompile("(?ms)^```go\n// (\\S+\\.go)\n\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		replace[filepath.Join(root, m[1])] = write(t, dir, string(rune('a'+i))+".go.txt", m[2])
	}
	config := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindStringSubmatch(page)
	if len(replace) != 3 || config == nil {
		t.Fatalf("CONTRIBUTING.md has %d Go files and the configuration %q; want 2 and one", len(replace)-1, config)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	flag := "-overlay=" + write(t, dir, "overlay.json", string(overlay))
	suite, bin := filepath.Join(dir, "suite.test"), filepath.Join(dir, "messkit")
	command(t, root, "go", "test", "-c", "-vet=off", flag, "-o", suite, "./drivers/thermalzone")
	if out := command(t, dir, suite, "-test.v"); !strings.Contains(out, "--- PASS: TestConformance") || !strings.Contains(out, "--- PASS: TestRead") {
		t.Errorf("the tests of the driver print\n%s", out)
	}
	command(t, root, "go", "build", flag, "-o", bin, "./cmd/messkit")
	t.Setenv("HOME", dir)
	if out := command(t, dir, bin, "check", write(t, dir, "home.yaml", config[1])); !strings.Contains(out, "nothing wrong") {
		t.Errorf("messkit check prints %s", out)
	}
	if out := command(t, dir, bin, "plan", "--config", "home.yaml", "what is the temperature in the cellar?"); !strings.Contains(out, "cpu") {
		t.Errorf("messkit plan prints %s", out)
	}
}

// newDriver runs make new-driver in a copy of the part of the tree that drivers need, and the
// tests of the new driver. It returns the copy.
func newDriver(t *testing.T, root, name string) string {
	t.Helper()
	tree := t.TempDir()
	for _, part := range []string{"drivers", "docs/drivers", "internal", "scripts"} {
		if err := os.CopyFS(filepath.Join(tree, part), os.DirFS(filepath.Join(root, part))); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"Makefile", "CHANGELOG.md", "go.mod", "go.sum"} {
		write(t, tree, file, read(t, filepath.Join(root, file)))
	}
	command(t, tree, "make", "--no-print-directory", "new-driver", "NAME="+name)
	if out := command(t, tree, "go", "test", "-vet=off", "-v", "./drivers/"+name); !strings.Contains(out, "--- PASS: TestConformance") {
		t.Errorf("the tests of the new driver print\n%s", out)
	}
	for _, wrong := range []string{"", "Foo", "a/b", "a b", name} {
		c := exec.CommandContext(t.Context(), "make", "--no-print-directory", "new-driver", "NAME="+wrong)
		c.Dir = tree
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "new-driver: ") {
			t.Errorf("make new-driver NAME=%s: %v, %s; want an error", wrong, err, out)
		}
	}
	if out := command(t, tree, "gofmt", "-l", "drivers/all", "drivers/"+name); out != "" {
		t.Errorf("gofmt wants to change %s", out)
	}
	return tree
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// command runs a program in a folder and returns its output.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
