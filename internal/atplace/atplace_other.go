//go:build !linux

package atplace

import (
	"errors"
	"net"
)

// errNoAnswers: only Linux has sockets that are on no disk.
var errNoAnswers = errors.New("a program can be asked on Linux only")

// Listen says that nobody can be asked here.
func Listen(string, string) (net.Listener, error) { return nil, errNoAnswers }

// Dial says that nobody can be asked here.
func Dial(string, string) (net.Conn, error) { return nil, errNoAnswers }

// Allowed says that nobody can be asked here.
func Allowed(net.Conn) error { return errNoAnswers }
