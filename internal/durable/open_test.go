//go:build unix

package durable_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/messkit/messkit/internal/durable"
)

// odd makes entries that are no regular files, and returns their names.
func odd(t *testing.T, dir string) []string {
	t.Helper()
	in := func(name string) string { return filepath.Join(dir, name) }
	l, err := net.Listen("unix", in("socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	err = errors.Join(
		syscall.Mkfifo(in("pipe"), 0o600), os.Mkdir(in("folder"), 0o700), os.WriteFile(in("file"), []byte("text"), 0o600),
		os.Symlink("file", in("link")), os.Symlink("pipe", in("link to a pipe")), os.Symlink("nothing", in("link to nothing")),
		os.Symlink("/dev/zero", in("link to a device")),
	)
	if err != nil {
		t.Fatal(err)
	}
	return []string{in("socket"), in("pipe"), in("folder"), in("link"), in("link to a pipe"), in("link to nothing"), in("link to a device"), "/dev/zero"}
}

// Open and Read reject everything but regular files with the name, and do not block.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	for _, name := range odd(t, dir) {
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND | os.O_CREATE} {
			if f, err := durable.Open(name, flag); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("Open(%s, %d) = %v, %v", name, flag, f, err)
			}
		}
		if data, err := durable.Read(name, 100); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Read(%s) = %q, %v; want an error other than that it is not there", name, data, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a file was made where a link leads")
	}
}

func TestRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if _, err := durable.Read(name, 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	f, err := durable.Open(name, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("text"); errors.Join(err, f.Close()) != nil {
		t.Fatal(err)
	}
	if data, err := durable.Read(name, 4); err != nil || string(data) != "text" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := durable.Read(name, 3); err == nil || data != nil || !strings.Contains(err.Error(), "larger than 3 bytes") {
		t.Errorf("%q, %v", data, err)
	}
	if err := os.Truncate(name, 1<<40); err != nil { // a sparse file
		t.Skip(err)
	}
	if _, err := durable.Read(name, 1<<20); err == nil {
		t.Error("a huge file was read")
	}
}
