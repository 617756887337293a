//go:build !linux

package wal

import "os"

// reserve does nothing where room cannot be reserved without writing to it.
func reserve(*os.File, int64) error { return nil }
