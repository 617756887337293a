//go:build race

package files_test

func init() { raced = true }
