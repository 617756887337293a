package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/cli"
)

// TestVersionMatchesChangelog checks that the program prints the newest release of the changelog.
func TestVersionMatchesChangelog(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	newest := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$`).FindSubmatch(text)
	if newest == nil {
		t.Fatal("CHANGELOG.md has no release with a version and a date")
	}
	var out, errs bytes.Buffer
	if code := cli.Main([]string{"version"}, strings.NewReader(""), &out, &errs); code != cli.ExitDone {
		t.Fatalf("messkit version: exit code %d: %s", code, errs.String())
	}
	if want := "messkit " + string(newest[1]) + " ("; !strings.HasPrefix(out.String(), want) {
		t.Errorf("messkit version prints %q; want %q at the beginning", out.String(), want)
	}
}
