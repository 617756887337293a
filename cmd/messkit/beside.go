package main

import (
	"os"
	"path/filepath"
)

// deviceFiles are the keys of devices that name files and folders.
var deviceFiles = []string{"families", "token_file", "password_file", "code_file"}

// beside is where a file lies that a configuration names: in the folder of that, so
// that a service finds what a terminal has found; else, where only that has it, in the
// folder that messkit was started in.
func beside(config, name string) string {
	name = expand(name)
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	at := filepath.Join(filepath.Dir(config), name)
	if !exists(at) && exists(name) {
		return name
	}
	return at
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
