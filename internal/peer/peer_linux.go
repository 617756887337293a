package peer

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// tables list the connections of this machine. They lie below /proc/self, because a service
// with ProcSubset=pid has no /proc/net.
var tables = []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"}

// find returns the socket with the address local and the peer remote.
func find(local, remote netip.AddrPort) (socket, error) {
	failed := ErrUnknown
	for _, name := range tables {
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // a machine without IPv6
		}
		if err != nil {
			failed = err
			continue
		}
		s, err := findIn(f, local, remote)
		_ = f.Close() // closing after a read cannot lose data
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, ErrUnknown) {
			failed = err
		}
	}
	return socket{}, failed
}

// littleEndian is the order of bytes of this machine.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Fields of a line of /proc/net/tcp (Documentation/networking/proc_net_tcp.rst).
const (
	fieldLocal  = 1
	fieldRemote = 2
	fieldState  = 3
	fieldUID    = 7
	fieldInode  = 9
)

// established is the only state that counts: the kernel lists a socket that its process has
// closed as root's.
const established = "01"

// findIn finds a socket in a table.
func findIn(table io.Reader, local, remote netip.AddrPort) (socket, error) {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) <= fieldInode || fields[fieldState] != established {
			continue
		}
		if l, ok := address(fields[fieldLocal]); !ok || l != local {
			continue
		}
		if r, ok := address(fields[fieldRemote]); !ok || r != remote {
			continue
		}
		uid, err := strconv.ParseUint(fields[fieldUID], 10, 32)
		inode, err2 := strconv.ParseUint(fields[fieldInode], 10, 64)
		if err != nil || err2 != nil || inode == 0 {
			return socket{}, ErrUnknown
		}
		return socket{int(uid), inode}, nil
	}
	if err := lines.Err(); err != nil {
		return socket{}, err
	}
	return socket{}, ErrUnknown
}

// address reads 0100007F:1F90: each four bytes of the address in the order of this
// machine, and the port.
func address(text string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(text, ":")
	data, err := hex.DecodeString(host)
	n, err2 := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || err2 != nil || len(data) != 4 && len(data) != 16 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(data); i += 4 {
		if littleEndian {
			data[i], data[i+1], data[i+2], data[i+3] = data[i+3], data[i+2], data[i+1], data[i]
		}
	}
	a, _ := netip.AddrFromSlice(data) // it has 4 or 16 bytes
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), true
}

// terminal checks that pid holds the socket and reads from its terminal.
func terminal(pid int, local, remote netip.AddrPort) error {
	s, err := find(local, remote)
	switch {
	case err != nil:
		return err
	case s.uid == 0 && os.Geteuid() != 0:
		return nil // root may do everything, and other users cannot read its /proc
	case s.uid != os.Geteuid():
		return fmt.Errorf("the process is of the user %d, and this one of %d", s.uid, os.Geteuid())
	}
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	if err := holds(dir, s.inode); err != nil {
		return err
	}
	return reads(dir)
}

// typed checks that this process reads from its terminal.
func typed() error { return reads("/proc/self") }

// reads checks that a process reads from the terminal that controls it, in the
// foreground.
func reads(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return err
	}
	tty, err := controlling(string(data))
	if err != nil {
		return err
	}
	var in syscall.Stat_t
	if err := syscall.Stat(filepath.Join(dir, "fd", "0"), &in); err != nil {
		return err
	}
	const devTTY = 5 << 8 // /dev/tty, the controlling terminal of the process that opens it
	if in.Mode&syscall.S_IFMT != syscall.S_IFCHR || uint64(in.Rdev) != tty && uint64(in.Rdev) != devTTY {
		return errors.New("its standard input is not its terminal")
	}
	return nil
}

// holds checks that a process has a socket open.
func holds(dir string, inode uint64) error {
	open, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return err
	}
	want := fmt.Sprintf("socket:[%d]", inode)
	for _, fd := range open {
		if to, err := os.Readlink(filepath.Join(dir, "fd", fd.Name())); err == nil && to == want {
			return nil
		}
	}
	return errors.New("the connection is of another process")
}

// Fields of /proc/PID/stat behind the name, which stands in brackets (proc_pid_stat(5)).
const (
	fieldGroup      = 2
	fieldTTY        = 4
	fieldForeground = 5
)

// controlling returns the device of the terminal that controls a process, which must
// be in its foreground, from its line of /proc/PID/stat.
func controlling(stat string) (device uint64, err error) {
	_, rest, ok := cutLast(stat, ")")
	fields := strings.Fields(rest)
	if !ok || len(fields) <= fieldForeground {
		return 0, ErrUnknown
	}
	tty, err := strconv.ParseInt(fields[fieldTTY], 10, 32)
	switch {
	case err != nil:
		return 0, ErrUnknown
	case tty == 0:
		return 0, errors.New("no terminal controls it")
	case fields[fieldForeground] != fields[fieldGroup]:
		return 0, errors.New("it is not in the foreground of its terminal")
	}
	return uint64(uint32(tty)), nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
