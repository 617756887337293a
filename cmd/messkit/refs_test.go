package main

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/cli/client"
)

func TestRefPrefixes(t *testing.T) {
	refs := []string{"2026-11-22-001", "2026-11-22-010-web-ab12", "2026-11-22-011-web-cd34", "2026-11-22-1000", "2026-11-22-999-a", "2025-01-15-TEST", "2026-11-23-001-b"}
	for beginning, want := range map[string]string{
		"2026-11-22-001":          "2026-11-22-001",
		"2026-11-22-010":          "2026-11-22-010-web-ab12",
		"2026-11-22-01":           "2026-11-22-010-web-ab12 2026-11-22-011-web-cd34",
		"2026-11-22-010-w":        "2026-11-22-010-web-ab12",
		"2026-11-22-010-x":        "",
		"2026-11-22-100":          "", // does not match 1000
		"2026-11-22-10":           "2026-11-22-1000",
		"2026-11-22-9":            "2026-11-22-999-a",
		"2026-11-23-0":            "2026-11-23-001-b",
		"2025-01-15-T":            "2025-01-15-TEST",
		"2026-11-22-":             "",
		"2026-11-22":              "",
		"2026-11-2":               "",
		"2026-13-22-0":            "",
		"last":                    "",
		"":                        "",
		"2026-11-22-010-web-ab12": "2026-11-22-010-web-ab12",
	} {
		if got := strings.Join(client.Begun(beginning, refs), " "); got != want {
			t.Errorf("%q: %q, want %q", beginning, got, want)
		}
	}
}

func FuzzRefPrefixes(f *testing.F) {
	f.Add("2026-11-22-01", "2026-11-22-011-web-cd34")
	f.Fuzz(func(t *testing.T, beginning, ref string) {
		for _, found := range client.Begun(beginning, []string{ref}) {
			if found != ref || !strings.HasPrefix(ref, beginning) {
				t.Errorf("%q is found by %q", found, beginning)
			}
		}
	})
}
