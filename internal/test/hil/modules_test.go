package hil_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Module is a kernel module with its parameters.
type Module struct {
	Name       string // i2c-stub
	Parameters string
}

// module is the file of a module.
type module struct {
	name       string // with underscores, as the kernel writes it
	parameters string
	data       []byte
}

// load returns modules with their dependencies, in load order. It assumes that the kernel
// contains a missing module.
func (k *Kernel) load(wanted []Module) ([]module, error) {
	files := map[string]string{}
	err := filepath.WalkDir(filepath.Join(k.Modules, "kernel"), func(name string, d fs.DirEntry, err error) error {
		base, _, isModule := strings.Cut(filepath.Base(name), ".ko")
		if err == nil && isModule && !d.IsDir() {
			files[underscored(base)] = name
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var list []module
	for _, w := range wanted {
		if list, err = add(list, files, underscored(w.Name)); err != nil {
			return nil, err
		}
		for i := range list {
			if list[i].name == underscored(w.Name) {
				list[i].parameters = w.Parameters
			}
		}
	}
	return list, nil
}

func underscored(name string) string { return strings.ReplaceAll(name, "-", "_") }

// add appends a module, after its dependencies.
func add(list []module, files map[string]string, name string) ([]module, error) {
	file := files[name]
	if file == "" || slices.ContainsFunc(list, func(m module) bool { return m.name == name }) {
		return list, nil
	}
	data, err := readModule(file)
	if err != nil {
		return nil, err
	}
	below, err := depends(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, b := range below {
		if list, err = add(list, files, underscored(b)); err != nil {
			return nil, err
		}
	}
	return append(list, module{name: name, data: data}), nil
}

func readModule(file string) ([]byte, error) {
	if strings.HasSuffix(file, ".xz") {
		return run("/", "xz", "-dc", file)
	}
	return os.ReadFile(file)
}

// depends returns the dependencies in a module's .modinfo section.
func depends(data []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("is no kernel module")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	for _, field := range strings.Split(string(info), "\x00") {
		if list, ok := strings.CutPrefix(field, "depends="); ok && list != "" {
			return strings.Split(list, ","), nil
		}
	}
	return nil, nil
}
