package mqttdevice_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The table in the documentation lists the templates with a timer, because the answer to
// "on for ten minutes" depends on it.
func TestDocumentedTimers(t *testing.T) {
	for _, driver := range []string{"mqttdevice", "httpdevice"} {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "drivers", driver+".md"))
		if err != nil {
			t.Fatal(err)
		}
		column, rows := -1, map[string]string{}
		for line := range strings.Lines(string(page)) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			for i, c := range cells {
				if strings.TrimSpace(c) == "device's own timer" {
					column = i
				}
			}
			if name := strings.Trim(strings.TrimSpace(cells[0]), "`"); column > 0 && len(cells) > column {
				rows[name] = strings.TrimSpace(cells[column])
			}
		}
		names, err := filepath.Glob(filepath.Join("..", driver, "families", "*.yaml"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: no families (%v)", driver, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			family := strings.TrimSuffix(filepath.Base(name), ".yaml")
			cell, listed := rows[family]
			hasTimer := cell != "" && !strings.HasPrefix(cell, "none")
			if has := strings.Contains(string(text), "on_for:"); has != hasTimer || !listed && (family == "esphome" || family == "shelly-gen1") {
				t.Errorf("%s: %s: the page has %q (listed: %t), the template has a timer: %t", driver, family, cell, listed, has)
			}
		}
	}
}
