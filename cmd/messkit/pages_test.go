package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	pageDevices = regexp.MustCompile("(?s)```yaml\n(devices:.*?)```")
	pageAsks    = regexp.MustCompile("`messkit ask \"([^\"]+)\"")
	pageSecrets = regexp.MustCompile(`/etc/messkit/([a-z.-]+)`)
)

// What a driver's page has people write and ask is understood: its first
// configuration passes, and its sentence becomes a plan for a device of that.
func TestPagesOfDrivers(t *testing.T) {
	pages, err := filepath.Glob("../../docs/drivers/*.md")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		config, ask := pageDevices.FindSubmatch(text), pageAsks.FindSubmatch(text)
		if config == nil || ask == nil {
			continue
		}
		asked++
		dir := t.TempDir()
		t.Setenv("HOME", dir)
		for _, m := range pageSecrets.FindAllSubmatch(config[1], -1) {
			if err := os.WriteFile(filepath.Join(dir, string(m[1])), []byte("secret\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(dir, "messkit.yaml")
		if err := os.WriteFile(file, bytes.ReplaceAll(config[1], []byte("/etc/messkit"), []byte(dir)), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		a := &app{out: &out, err: &out}
		root := a.root()
		root.SetArgs([]string{"plan", "--config", file, string(ask[1])})
		if err := root.Execute(); err != nil || !strings.Contains(out.String(), "would  ") {
			t.Errorf("%s: %q: %v\n%s", filepath.Base(page), ask[1], err, out.String())
		}
	}
	if asked < 12 {
		t.Errorf("%d pages say what to ask; the test looks for the wrong thing", asked)
	}
}
