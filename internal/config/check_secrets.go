package config

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/secret"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Keys that name files with secrets, and keys whose values are secrets.
var (
	secretFiles = []string{"token_file", "password_file", "code_file", "key_file", "key"}
	secretTexts = []string{"token", "password", "code"}
)

// IsSecretKey reports whether the value of a key is a secret.
func IsSecretKey(key string) bool { return slices.Contains(secretTexts, key) }

// byAll are the permissions of users who are neither the owner nor in the group. A service
// may read files that root has given to its group.
const byAll fs.FileMode = 0o007

// Exposed returns a line for each secret of a configuration file that every user of this
// machine can read. LoadConfig reports files that it cannot read.
func Exposed(file string) (list []string) {
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	docs, err := strictyaml.Parse(data, strictyaml.Config)
	if err != nil {
		return nil
	}
	e := exposure{file: file, open: openToAll(file)}
	for _, doc := range docs {
		eachText(doc, "", e.secret)
	}
	return e.found
}

type exposure struct {
	file  string
	open  string // the access of every user to the configuration file
	found []string
}

// eachText calls f with each text in a value, and its path.
func eachText(v *strictyaml.Value, path string, f func(p strictyaml.Pair, path string)) {
	for _, one := range v.List {
		eachText(one, path, f)
	}
	for _, p := range v.Pairs {
		if p.Value == nil {
			continue
		}
		at := strings.TrimPrefix(path+"."+p.Key, ".")
		if isText(p.Value) {
			f(p, at)
		}
		if p.Key != "template" { // its token is the name of a header
			eachText(p.Value, at, f)
		}
	}
}

// SecretsIn returns the secrets of a configuration and of the files that it names. No message
// may contain one of them.
func SecretsIn(file string, data []byte) (all []secret.Text) {
	docs, err := strictyaml.Parse(data, strictyaml.Config)
	if err != nil {
		return nil // LoadConfig reports it
	}
	for _, doc := range docs {
		eachText(doc, "", func(p strictyaml.Pair, _ string) {
			switch {
			case slices.Contains(secretTexts, p.Key) || p.Key == "accept" || p.Key == "enrol":
				all = append(all, secret.Text(p.Value.Text))
			case slices.Contains(secretFiles, p.Key):
				if text, err := durable.Read(pathBeside(file, p.Value.Text), maxSecretFile); err == nil {
					all = append(all, secret.Text(strings.TrimSpace(string(text))))
				}
			}
		})
	}
	return all
}

// isText reports whether a value is text, of digits alone too.
func isText(v *strictyaml.Value) bool {
	return (v.Kind == strictyaml.String || v.Kind == strictyaml.Number) && v.Text != ""
}

// maxSecretFile is the largest size of a file with a secret, in bytes.
const maxSecretFile = 64 << 10

func (e *exposure) secret(p strictyaml.Pair, path string) {
	name := Expand(p.Value.Text)
	if strings.HasPrefix(path, "devices.") {
		name = pathBeside(e.file, p.Value.Text)
	}
	switch {
	case slices.Contains(secretFiles, p.Key) && openToAll(name) != "":
		e.found = append(e.found, fmt.Sprintf("%s:%d: %s: everybody on this machine can %s %s; run chmod 600 %[5]s", e.file, p.Line, path, openToAll(name), name))
	case slices.Contains(secretTexts, p.Key) && e.open != "":
		e.found = append(e.found, fmt.Sprintf("%s:%d: %s: everybody on this machine can %s it here; run chmod 600 %[1]s", e.file, p.Line, path, e.open))
	}
}

// openToAll returns the access of every user to a file: "read", "write", both, or "".
func openToAll(name string) string {
	info, err := os.Stat(name)
	switch {
	case err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&byAll == 0:
		return ""
	case info.Mode().Perm()&0o002 == 0:
		return "read"
	case info.Mode().Perm()&0o004 == 0:
		return "write"
	}
	return "read and write"
}
