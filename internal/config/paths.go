// Package config reads and checks the configuration: its keys, the devices that it opens,
// and errors with file and line. It starts nothing.
package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/messkit/messkit/exchange/remote/httpclient"
)

// deviceFiles are the keys of devices that name files and folders.
var deviceFiles = []string{"families", "token_file", "password_file", "code_file"}

// pathBeside returns the path of a file that a configuration names. The path is relative to the
// folder of the configuration, so that a service and a terminal find the same file. If only the
// current folder has the file, beside returns that one.
func pathBeside(config, name string) string {
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

// DefaultURL is the address of the exchange on this machine.
const DefaultURL = "http://127.0.0.1:8420"

// OperatorFile is the name of the file with the operator's key.
const OperatorFile = "operator.key"

// StartedFile is the name of the configuration file in the data folder. The console begins it for a
// program without a configuration file, and such a program reads it at its start.
const StartedFile = "messkit.yaml"

// StartedIn returns the path of the StartedFile in a data folder, "" if there is none.
func StartedIn(data string) string {
	if name := filepath.Join(data, StartedFile); exists(name) {
		return name
	}
	return ""
}

// EnvOr returns an environment variable, or otherwise if it is unset or empty.
func EnvOr(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// DataDir returns the default data folder, ~/.mess.
func DataDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	return filepath.Join(home, ".mess")
}

// ReadKey reads an API key from a file.
func ReadKey(name string) (httpclient.Secret, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(data))
	if key == "" {
		return "", fmt.Errorf("%s: is empty; put the key there", name)
	}
	return httpclient.Secret(key), nil
}

// Expand replaces ~ by the home folder.
func Expand(name string) string {
	rest, ok := strings.CutPrefix(name, "~/")
	if !ok {
		return name
	}
	return filepath.Join(filepath.Dir(DataDir()), rest)
}

// JournalDir returns the folder of the journal in a data folder.
func JournalDir(data string) string { return filepath.Join(data, "journal") }

// StopFolder returns the folder of the stop in a data folder.
func StopFolder(data string) string { return filepath.Join(data, "stop") }
