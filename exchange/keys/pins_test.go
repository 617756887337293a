package keys_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/keys"
)

const (
	oneKey   = "xc3tBbVKfzdPiwGkF3CFsw/Pgkb0G52LEjmIQyphbFA="
	otherKey = "WlEPvHr0d5GdGvNtXYiJr+vFU36NHWB4kO1OjllmWdI="
)

func TestFirstReceiptKeyIsPinned(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ executor, key, want string }{
		{"kitchen-pi", oneKey, oneKey},
		{"kitchen-pi", otherKey, oneKey},
		{"porch-pi", otherKey, otherKey},
		{"kitchen-pi", oneKey, oneKey},
	} {
		if got, err := open(t, dir).Pin(c.executor, c.key); err != nil || got != c.want {
			t.Errorf("Pin(%s, %s) = %s, %v; want %s", c.executor, c.key, got, err, c.want)
		}
	}
	pins, err := keys.Pins(dir)
	if err != nil || len(pins) != 2 || pins["kitchen-pi"] != oneKey {
		t.Errorf("%v, %v", pins, err)
	}
}

func TestUnreadablePins(t *testing.T) {
	for text, want := range map[string]string{
		"{":                       "unexpected end",
		"null":                    "no mapping",
		`{"kitchen-pi": "short"}`: "kitchen-pi: \"short\" is not 32 bytes in base64",
	} {
		dir := t.TempDir()
		name := filepath.Join(dir, keys.PinsFile)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		k := open(t, dir)
		first, err := k.Pin("kitchen-pi", oneKey)
		if err == nil || first != "" || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %q, %v; want %q", text, first, err, want)
		}
		if data, err := os.ReadFile(name); err != nil || string(data) != text {
			t.Errorf("%s: it was overwritten: %s, %v", text, data, err)
		}
	}
}

func FuzzPins(f *testing.F) {
	f.Add([]byte(`{"kitchen-pi": "` + oneKey + `"}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, keys.PinsFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if pins, err := keys.Pins(dir); (err == nil) != (pins != nil) {
			t.Errorf("%v and %v", pins, err)
		}
	})
}
