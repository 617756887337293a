//go:build !linux

package localrpc

import (
	"errors"
	"net"
)

// errNoAnswers is the error on other systems: only Linux has abstract sockets.
var errNoAnswers = errors.New("messkit can ask a program on Linux only")

// Listen returns an error on systems other than Linux.
func Listen(string, string) (net.Listener, error) { return nil, errNoAnswers }

// Dial returns an error on systems other than Linux.
func Dial(string, string) (net.Conn, error) { return nil, errNoAnswers }

// Allowed returns an error on systems other than Linux.
func Allowed(net.Conn) error { return errNoAnswers }
