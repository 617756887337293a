package hil_test

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// File is a file of an image.
type File struct {
	Name string // without a slash at its beginning
	From string // path on this machine
}

// Image writes an initial file system for the kernel, with files, and modules in their load
// order.
func (k *Kernel) Image(name string, modules []Module, files []File) (err error) {
	all, err := k.load(modules)
	if err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(z)
	c := &cpio{w: b}
	for _, d := range []string{"dev", "proc", "sys", "tmp", "modules"} {
		c.add(d, 0o040755, nil)
	}
	order := ""
	for _, m := range all {
		c.add("modules/"+m.name+".ko", 0o100644, m.data)
		order += fmt.Sprintf("%s.ko %s\n", m.name, m.parameters)
	}
	c.add("modules/order", 0o100644, []byte(order))
	for _, f := range files {
		data, err := os.ReadFile(f.From)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
		c.add(f.Name, 0o100755, data)
	}
	c.add("TRAILER!!!", 0, nil)
	return errors.Join(c.err, b.Flush(), z.Close())
}

// cpio writes the "newc" format (the kernel's
// Documentation/driver-api/early-userspace/buffer-format.rst).
type cpio struct {
	w     io.Writer
	inode int
	err   error // the first
}

func (c *cpio) add(name string, mode int, data []byte) {
	c.inode++
	head := "070701"
	for _, n := range []int{c.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0} {
		head += fmt.Sprintf("%08x", n)
	}
	c.write(padded(append([]byte(head+name), 0)))
	c.write(padded(data))
}

func padded(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b[:len(b):len(b)], 0)
	}
	return b
}

func (c *cpio) write(b []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(b)
	}
}
