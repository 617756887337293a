// Package config reads and checks the configuration: its keys, the devices that it opens,
// and errors with file and line. It runs nothing.
package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/messkit/messkit/exchange/remote"
)

// deviceFiles are the keys of devices that name files and folders.
var deviceFiles = []string{"families", "token_file", "password_file", "code_file"}

// beside is where a file lies that a configuration names: in the folder of that, so
// that a service finds what a terminal has found; else, where only that has it, in the
// folder that messkit was started in.
func beside(config, name string) string {
	name = Expand(name)
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

// DefaultURL is where the exchange of this machine is.
const DefaultURL = "http://127.0.0.1:8420"

// OperatorFile is the file with the key of who may do everything.
const OperatorFile = "operator.key"

// EnvOr returns an environment variable, or the other value if there is none.
func EnvOr(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// DataDir is where messkit keeps its data unless configured: ~/.mess.
func DataDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	return filepath.Join(home, ".mess")
}

// ReadKey reads an API key from a file.
func ReadKey(name string) (remote.Secret, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(data))
	if key == "" {
		return "", fmt.Errorf("%s: is empty; put the key there", name)
	}
	return remote.Secret(key), nil
}

// Expand puts the home folder in for ~.
func Expand(name string) string {
	rest, ok := strings.CutPrefix(name, "~/")
	if !ok {
		return name
	}
	return filepath.Join(filepath.Dir(DataDir()), rest)
}

// JournalDir is the folder of the journal in a data folder.
func JournalDir(data string) string { return filepath.Join(data, "journal") }

// StopFolder returns the folder of the stop in a data folder.
func StopFolder(data string) string { return filepath.Join(data, "stop") }
