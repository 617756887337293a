// Package freeport finds ports for servers that listen later, or again after a restart.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Linux assigns ports from 32768 on to programs that request any port, so such a port may be in
// use a moment later. Programs use the lower ports only by number.
const first, after = 10_000, 32_768

var (
	mu    sync.Mutex
	given = map[int]net.PacketConn{}
)

// Address returns a TCP port of a host that no program listens on now, as host:port. No call in this or in
// another process returns it again while this process runs: Address keeps the UDP port of the same number
// open. It is safe for concurrent use.
func Address(host string) (string, error) {
	mu.Lock()
	defer mu.Unlock()
	var last error
	for range 1000 {
		port := first + rand.IntN(after-first)
		if given[port] != nil {
			continue
		}
		addr := net.JoinHostPort(host, strconv.Itoa(port))
		mark, err := net.ListenPacket("udp", addr)
		if err != nil {
			last = err
			continue
		}
		l, err := net.Listen("tcp", addr)
		if err == nil {
			err = l.Close()
		}
		if err == nil {
			given[port] = mark
			return addr, nil
		}
		last = errors.Join(err, mark.Close())
	}
	return "", fmt.Errorf("no port of %s is free between %d and %d: %w", host, first, after-1, last)
}
