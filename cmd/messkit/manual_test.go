package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/internal/cli"
	"github.com/messkit/messkit/internal/cli/output"
)

// eachCommand calls f for each command that help lists, and for their subcommands.
func eachCommand(f func(*cobra.Command)) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if !c.Hidden {
			f(c)
		}
	}
	walk(cli.NewRoot(&output.Env{Out: &bytes.Buffer{}}))
}

// Every command has a short description and examples that it can parse.
func TestEveryCommandHasDescriptionAndExamples(t *testing.T) {
	n := 0
	eachCommand(func(c *cobra.Command) {
		n++
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short help %q", c.CommandPath(), c.Short)
		}
		if !strings.Contains(c.Example+" ", c.Name()+" ") && !strings.Contains(c.Example+"\n", c.Name()+"\n") {
			t.Errorf("%s: no example of it in %q", c.CommandPath(), c.Example)
		}
		for line := range strings.SplitSeq(c.Example, "\n") {
			checkExample(t, c, line)
		}
	})
	if n < 40 {
		t.Errorf("%d commands were looked at", n)
	}
}

// checkExample parses the flags of an example, and does not run it.
func checkExample(t *testing.T, c *cobra.Command, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, "   ") // the explanation of the example follows
	_, line, ok := strings.Cut("  "+strings.TrimSpace(line)+" ", " messkit ")
	if !ok {
		return
	}
	line = strings.FieldsFunc(line, func(r rune) bool { return r == '|' || r == '>' || r == ')' })[0]
	root := cli.NewRoot(&output.Env{Out: &bytes.Buffer{}})
	found, rest, err := root.Find(splitWords(line))
	if err != nil {
		t.Errorf("%s: %q: %v", c.CommandPath(), line, err)
		return
	}
	if err := found.ParseFlags(rest); err != nil {
		t.Errorf("%s: %q: %v", c.CommandPath(), line, err)
	}
	if err := found.ValidateArgs(found.Flags().Args()); err != nil {
		t.Errorf("%s: %q: %v", c.CommandPath(), line, err)
	}
}

// splitWords splits a command line into words, with the quotation marks of a shell.
func splitWords(line string) (list []string) {
	for i, part := range strings.FieldsFunc(strings.ReplaceAll(line, `'`, `"`), func(r rune) bool { return r == '"' }) {
		if i%2 == 0 {
			list = append(list, strings.Fields(part)...)
		} else {
			list = append(list, part)
		}
	}
	return list
}

// The manual has a page for each command, and man can read it. The test writes the pages into the
// folder MESSKIT_MAN: make man.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	build := output.Version
	if keep := os.Getenv("MESSKIT_MAN"); keep != "" {
		dir, build = keep, os.Getenv("MESSKIT_VERSION")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	pages := manualPages(cli.NewRoot(&output.Env{Out: &bytes.Buffer{}}), build, home)
	if err := writePages(dir, pages); err != nil {
		t.Fatal(err)
	}
	eachCommand(func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		text := string(pages[name])
		for _, want := range []string{".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH EXAMPLES"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %s", name, want)
			}
		}
		if home != "/" && strings.Contains(text, home) {
			t.Errorf("%s contains the home folder of its build", name)
		}
	})
	man, err := exec.LookPath("man")
	if err != nil {
		t.Skip("man is not here; apt-get install man-db")
	}
	for name := range pages {
		c := exec.Command(man, "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", filepath.Join(dir, name))
		var errs bytes.Buffer
		c.Stderr = &errs
		c.Env = append(os.Environ(), "MANWIDTH=100")
		if err := c.Run(); err != nil || errs.Len() > 0 {
			t.Errorf("%s: %v: %s", name, err, &errs)
		}
	}
}
