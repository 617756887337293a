package stop

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// address is a name that is on no disk (unix(7), abstract sockets): it is there
// where none can be written. It stands for the data folder, however that is
// called.
func address(dir string) (*net.UnixAddr, error) {
	info, err := os.Stat(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, fmt.Errorf("%s: nobody knows which folder it is", dir)
	}
	return &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("@messkit-stop-%x-%x", is.Dev, is.Ino)}, nil
}

func listen(dir string) (net.Listener, error) {
	at, err := address(dir)
	if err != nil {
		return nil, err
	}
	return net.ListenUnix("unix", at)
}

func dial(dir string) (net.Conn, error) {
	at, err := address(dir)
	if err != nil {
		return nil, err
	}
	conn, err := net.DialUnix("unix", nil, at)
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// atThePlace refuses who is somebody else than this program's user, or root:
// only those may write to the folder.
func atThePlace(conn net.Conn) error {
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
