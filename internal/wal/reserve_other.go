//go:build !linux

package wal

import "os"

// reserve does nothing: this system cannot reserve room without writing.
func reserve(*os.File, int64) error { return nil }
