package main

import (
	"encoding"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/strictyaml"
)

// keysOf visits the keys of a configuration, including nested ones. In a path, [] is an item of a
// list, {} a key of a mapping.
func keysOf(t reflect.Type, path string, visit func(path string, t reflect.Type)) {
	_, text := reflect.New(t).Interface().(encoding.TextUnmarshaler)
	switch {
	case text || t == reflect.TypeFor[strictyaml.Node]() || t == reflect.TypeFor[time.Duration]():
		visit(path, t)
	case t.Kind() == reflect.Pointer:
		keysOf(t.Elem(), path, visit)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && path != "":
		visit(path, t)
		keysOf(t.Elem(), path+"[]", visit)
	case t.Kind() == reflect.Map && path != "":
		visit(path, t)
		if k := t.Elem().Kind(); k == reflect.Struct && t.Elem() != reflect.TypeFor[strictyaml.Node]() || k == reflect.Map {
			keysOf(t.Elem(), path+".{}", visit)
		}
	case t.Kind() == reflect.Struct:
		if path != "" {
			visit(path, t)
		}
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" && name != "-" && f.IsExported() {
				keysOf(f.Type, strings.TrimPrefix(path+"."+name, "."), visit)
			}
		}
	default:
		visit(path, t)
	}
}

// everyKey visits the keys of a configuration, and those of a device.
func everyKey(visit func(path string, t reflect.Type)) {
	keysOf(reflect.TypeFor[config.Config](), "", visit)
	keysOf(reflect.TypeFor[config.DeviceConfig](), "devices.{}", visit)
}

// configWithValue returns a configuration with one value, and the line number of the value.
func configWithValue(path, value string) (text string, line int) {
	var b strings.Builder
	if strings.HasPrefix(path, "devices.{}.") && path != "devices.{}.driver" {
		b.WriteString("devices:\n  {}:\n    driver: sim-lamp\n") // an invalid name, quoted below
		path = strings.TrimPrefix(path, "devices.{}.")
		nest(&b, path, value, 4)
	} else {
		nest(&b, path, value, 0)
	}
	text = strings.ReplaceAll(b.String(), "{}:", "kitchen:")
	return text, strings.Count(strings.TrimRight(text, "\n"), "\n") + 1
}

func nest(b *strings.Builder, path, value string, indent int) {
	for _, key := range strings.Split(path, ".") {
		key, item := strings.CutSuffix(key, "[]")
		b.WriteString(strings.Repeat(" ", indent) + key + ":\n")
		if indent += 2; item {
			b.WriteString(strings.Repeat(" ", indent) + "-\n")
			indent += 2
		}
	}
	s := strings.TrimSuffix(b.String(), "\n")
	b.Reset()
	b.WriteString(s + " " + value + "\n")
}

func checkConfig(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := daemon.LoadConfig(file, output.NoLog)
	if err = config.MergeProblems(err, c.Folders(func(string) {})); err != nil {
		return strings.ReplaceAll(err.Error(), filepath.Dir(file)+"/", "")
	}
	return ""
}

// errorPrefix returns the beginning of an error message about a key.
func errorPrefix(path string, line int) string {
	return fmt.Sprintf("f.yaml:%d: %s", line, strings.NewReplacer("{}", "kitchen", "[]", "[0]").Replace(path))
}

// A value of a wrong type leads to an error with its line and a remedy.
func TestWrongTypeOfEachKeyIsReported(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	n := 0
	everyKey(func(path string, typ reflect.Type) {
		if n++; path == "devices.{}" {
			return
		}
		wrong := "{x: y}"
		if k := typ.Kind(); (k == reflect.Struct || k == reflect.Map) && typ != reflect.TypeFor[strictyaml.Node]() {
			wrong = "[[x]]"
		}
		text, line := configWithValue(path, wrong)
		message := checkConfig(t, text)
		if !strings.Contains("\n"+message, "\n"+errorPrefix(path, line)) || !strings.Contains(message, "write") && !strings.Contains(message, "known keys") {
			t.Errorf("%s\n%s", text, message)
		}
		if twice := strings.Split(message, "\n"); len(slices.Compact(slices.Sorted(slices.Values(twice)))) != len(twice) {
			t.Errorf("%s\nhas the same error twice:\n%s", text, message)
		}
	})
	if n < 150 {
		t.Errorf("%d keys are not all", n)
	}
}
