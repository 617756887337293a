package hil_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// emulator writes a program that behaves like qemu.
func emulator(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "qemu")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestBoot(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		code       int
		err        string
	}{
		{"passes", `printf 'booting\r\n'; echo "x HIL-RESULT 0"; exec sleep 1000`, 0, ""},
		{"fails", `echo HIL-RESULT 2`, 2, ""},
		{"goes off", `echo Kernel panic`, 0, "the machine went off before its tests had ended"},
		{"answers nonsense", `echo HIL-RESULT yes`, 0, `parsing "yes"`},
		{"asks nobody", `echo "HIL-ASK info"; read answer; case "$answer" in error*) echo HIL-RESULT 0 ;; esac`, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			m := Machine{Qemu: emulator(t, tt.text)}
			code, err := m.Boot(t.Context(), t.TempDir(), "kernel", "image", &out)
			if code != tt.code || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%d, %v; want %d, %s\n%s", code, err, tt.code, tt.err, out.String())
			}
		})
	}
	_, err := Machine{Qemu: "qemu-system-none", How: "apt-get install it"}.Boot(t.Context(), t.TempDir(), "", "", io.Discard)
	if _, ok := errors.AsType[*MissingError](err); !ok || err.Error() != "qemu-system-none (apt-get install it)" {
		t.Error(err)
	}
}

// An image contains its files, in the format of the kernel's document.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	modules := filepath.Join(dir, "modules")
	if err := os.MkdirAll(filepath.Join(modules, "kernel"), 0o755); err != nil {
		t.Fatal(err)
	}
	file, image := filepath.Join(dir, "file"), filepath.Join(dir, "image")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := &Kernel{Modules: modules}
	if err := k.Image(image, []Module{{Name: "built-in"}}, []File{{Name: "init", From: file}}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	// Magic, inode, mode (a program), owner, group, links, time, size, four devices, length of
	// the name, checksum. Then name and data, both padded to four bytes.
	want := "000081ed" + "00000000" + "00000000" + "00000001" + "00000000" + "00000005" + strings.Repeat("0", 32) + "00000005" + "00000000" + "init\x00\x00hello\x00\x00\x00"
	if !bytes.Contains(data, []byte(want)) || !bytes.Contains(data, []byte("TRAILER!!!")) || len(data)%4 != 0 {
		t.Errorf("%q", data)
	}
	if err := os.WriteFile(filepath.Join(modules, "kernel", "broken.ko"), []byte("no module"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := k.Image(image, []Module{{Name: "broken"}}, nil); err == nil || !strings.Contains(err.Error(), "broken.ko: ") {
		t.Error(err)
	}
}
