package mistake_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/mistake"
)

func TestCaught(t *testing.T) {
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, nil))
	work := func(crash bool) (taken bool) {
		defer mistake.Caught(log, "topic", "a/b")
		if crash {
			none := map[bool]map[string]bool{}[crash]
			none["x"] = true
		}
		return true
	}
	if !work(false) || out.Len() > 0 {
		t.Errorf("work that is in order: %s", out.String())
	}
	if work(true) {
		t.Error("work that has crashed counts as done")
	}
	for _, want := range []string{"level=ERROR", "topic=a/b", "nil map", "mistake_test.go"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log has no %s: %s", want, out.String())
		}
	}
}
