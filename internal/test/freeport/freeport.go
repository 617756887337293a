// Package freeport finds ports for tests whose servers listen later, or again after a restart.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// Linux assigns ports from 32768 on to programs that request any port, so such a port may be in
// use a moment later. Programs use the lower ports only by number.
const first, after = 10_000, 32_768

var (
	mu    sync.Mutex
	given = map[int]bool{}
)

// Address returns a free port of 127.0.0.1, as host:port. Each call in a process returns a
// different one.
func Address(t interface{ Fatal(args ...any) }) string {
	mu.Lock()
	defer mu.Unlock()
	var last error
	for range 1000 {
		port := first + rand.IntN(after-first)
		if given[port] {
			continue
		}
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		l, err := net.Listen("tcp", addr)
		if err == nil {
			err = l.Close()
		}
		if err == nil {
			given[port] = true
			return addr
		}
		last = err
	}
	t.Fatal("no port is free between", first, "and", after-1, last)
	return ""
}
