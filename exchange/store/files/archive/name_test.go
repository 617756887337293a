package archive_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/files/archive"
)

// The name of an archive follows from the ref of a thread, and its period from its name.
func TestArchiveOf(t *testing.T) {
	for ref, want := range map[string]string{
		"2026-02-14-001": "2026-02", "2026-02-14-032-x": "2026-02", "2026-02-14-033": "2026-02-14", "2026-02-14-1000-y": "2026-02-14",
		"2026-02-14-1001": "2026-02-14-1001", "2026-02-14-2000": "2026-02-14-1001", "2026-02-14-100001-z": "2026-02-14-100001",
		"2026-02-14-WXYZ": "2026-02", "2026-99-99-001": "other", "fridge": "other", "fridge-of-2026-02-14": "other",
	} {
		if got := archive.Of(ref); got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
	for name, want := range map[string]string{
		"2026-02": "2026-03-02", "2026-12": "2027-01-02", "2026-02-14": "2026-02-16", "2026-02-28-1001": "2026-03-02", "other": "0001-01-01",
	} {
		if got := archive.PeriodEnd(name).Format(time.DateOnly); got != want {
			t.Errorf("the end of %s: %s, want %s", name, got, want)
		}
	}
}
