package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// checkNoSecrets checks that no other file of the folder contains the secrets of the given files: canary
// FILE... (each line of a file is a secret)
func checkNoSecrets(ts *testscript.TestScript, neg bool, args []string) {
	var secrets [][]byte
	for _, name := range args {
		for line := range bytes.Lines([]byte(ts.ReadFile(name))) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				secrets = append(secrets, line)
			}
		}
	}
	if len(secrets) < len(args) {
		ts.Fatalf("%d secrets in %d files", len(secrets), len(args))
	}
	root, read, leaks := ts.MkAbs("."), 0, []string(nil)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		short, _ := filepath.Rel(root, name)
		if err != nil || !d.Type().IsRegular() || slices.Contains(args, short) {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		read += len(data)
		for _, s := range secrets {
			if bytes.Contains(data, s) || strings.Contains(name, string(s)) {
				leaks = append(leaks, short)
			}
		}
		return nil
	})
	ts.Check(err)
	if neg != (len(leaks) > 0) {
		ts.Fatalf("files with secrets: %q", leaks)
	}
	ts.Logf("%d secrets are nowhere in %d bytes", len(secrets), read)
}
