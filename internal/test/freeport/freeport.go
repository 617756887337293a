// Package freeport finds ports for tests whose servers listen later, or again after a restart.
package freeport

import "github.com/messkit/messkit/internal/freeport"

// Address returns a free port of 127.0.0.1, as host:port. Each call in a process returns a
// different one.
func Address(t interface{ Fatal(args ...any) }) string {
	address, err := freeport.Address("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return address
}
