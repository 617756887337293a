// Package peer finds out which local process is at the other end of a connection
// over loopback: its user, and whether a terminal controls it.
package peer

import (
	"errors"
	"net/netip"
	"os"
)

// ErrUnknown is the error if the system does not report the owner of a connection.
var ErrUnknown = errors.New("the system does not report the owner of the connection")

// UID returns the user of the process at the other end of a TCP connection over loopback. local
// and remote are the addresses of this end. If the connection does not come from a process of
// this machine, the error is ErrUnknown. Another error means that the list of connections could
// not be read now.
func UID(local, remote string) (int, error) {
	l, r, err := loopback(local, remote)
	if err != nil {
		return 0, err
	}
	s, err := find(r, l) // the other end has the addresses in reverse
	return s.uid, err
}

// Same reports whether the process at the other end runs as the user of this process, or as root,
// which may do everything anyway. It returns false for an unknown owner, and an error if the list
// of connections could not be read now.
func Same(local, remote string) (bool, error) {
	uid, err := UID(local, remote)
	if errors.Is(err, ErrUnknown) {
		return false, nil
	}
	return err == nil && (uid == os.Geteuid() || uid == 0), err
}

// Terminal returns nil if the process pid holds the other end of a connection over loopback. The
// process must belong to the user of this process, and read from its controlling terminal in the
// foreground. Terminal does not check processes of root.
//
// Terminal proves no person: a process of the same user can open a pseudo-terminal. On a system
// without /proc it trusts the process.
func Terminal(pid int, local, remote string) error {
	l, r, err := loopback(local, remote)
	if err != nil {
		return err
	}
	return terminal(pid, r, l)
}

// Typed returns nil if this process itself reads from its controlling terminal in the foreground.
func Typed() error { return typed() }

// socket is one end of a connection, as the kernel lists it.
type socket struct {
	uid   int
	inode uint64
}

func loopback(local, remote string) (l, r netip.AddrPort, err error) {
	l, err = netip.ParseAddrPort(local)
	if err == nil {
		r, err = netip.ParseAddrPort(remote)
	}
	if err != nil || !r.Addr().Unmap().IsLoopback() {
		return l, r, ErrUnknown
	}
	return plain(l), plain(r), nil
}

// plain returns an IPv4 address for an IPv4-mapped IPv6 address.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
