package localrpc

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// address returns the abstract socket (unix(7)) of a data folder. It needs no disk, and does
// not depend on the path by which a program names the folder.
func address(what, folder string) (*net.UnixAddr, error) {
	info, err := os.Stat(folder)
	if err != nil {
		return nil, err
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, fmt.Errorf("%s: its device and inode are unknown", folder)
	}
	return &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("@messkit-%s-%x-%x", what, is.Dev, is.Ino)}, nil
}

// Listen opens a socket for questions about what, from programs that use the same folder.
func Listen(what, folder string) (net.Listener, error) {
	at, err := address(what, folder)
	if err != nil {
		return nil, err
	}
	return net.ListenUnix("unix", at)
}

// Dial connects to the program that has called Listen with the same arguments.
func Dial(what, folder string) (net.Conn, error) {
	at, err := address(what, folder)
	if err != nil {
		return nil, err
	}
	conn, err := net.DialUnix("unix", nil, at)
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// Allowed returns an error unless the other process belongs to the user of this program or to
// root. Only these users may write to the folder.
func Allowed(conn net.Conn) error {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var none error
	if err := raw.Control(func(fd uintptr) {
		peer, none = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if none != nil {
		return none
	}
	if peer.Uid != 0 && int(peer.Uid) != os.Geteuid() {
		return fmt.Errorf("user %d has no right to the folder", peer.Uid)
	}
	return nil
}
