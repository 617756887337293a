package strictyaml_test

import (
	"errors"
	"testing"

	"github.com/messkit/messkit/internal/strictyaml"
)

// A problem names the place of its key or value, in characters and not in bytes.
func TestProblemsHaveColumns(t *testing.T) {
	type lamp struct {
		Pin  int    `yaml:"pin"`
		Area string `yaml:"area"`
	}
	var out struct {
		Lamp lamp            `yaml:"lamp"`
		More map[string]lamp `yaml:"more"`
	}
	for text, want := range map[string][3]int{ // line, column, number of problems
		"lamp: {pin: x}\n":                      {1, 13, 1},
		"lamp:\n  pin: 4\n  pine: 5\n":          {3, 3, 1},
		"more: {küche: {area: é, pine: 5}}\n":   {1, 25, 1},
		"more:\n  hall:\n    pin: [1]\n":        {3, 10, 1},
		"lamp: {pin: 4, pin: 5}\n":              {1, 16, 1},
		"lamp: {area: &a b}\n":                  {1, 14, 1},
		"lamp: {pin: 4}\n---\nlamp: {pin: 5}\n": {3, 1, 1},
	} {
		err := strictyaml.Decode("f", []byte(text), &out)
		all, ok := errors.AsType[strictyaml.Problems](err)
		if !ok || len(all) != want[2] || all[0].Line != want[0] || all[0].Column != want[1] {
			t.Errorf("%q: got %+v, want line %d, column %d", text, all, want[0], want[1])
		}
	}
	// A text that is not YAML has a line alone.
	if all, ok := errors.AsType[strictyaml.Problems](strictyaml.Decode("f", []byte("a: b: c\n"), &out)); !ok || all[0].Line != 1 || all[0].Column != 0 {
		t.Errorf("got %+v", all)
	}
}
