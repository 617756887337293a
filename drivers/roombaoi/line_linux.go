package roombaoi

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

var speeds = map[int]uint32{115200: unix.B115200, 57600: unix.B57600, 19200: unix.B19200}

// openLine opens a serial line, 8N1 without flow control. It locks the line with flock,
// because the kernel does not exclude a second process.
func openLine(port string, baud int) (*os.File, error) {
	fd, err := unix.Open(port, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; check that the cable is connected, and that this user is in the group dialout", port, err)
	}
	f := os.NewFile(uintptr(fd), port) // non-blocking, so that it has deadlines
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = raw(fd, speeds[baud])
	} else {
		err = fmt.Errorf("%w: another program uses it", err)
	}
	if err != nil {
		_ = f.Close() // the first error is the reason
		return nil, fmt.Errorf("%s: %w", port, err)
	}
	return f, nil
}

func raw(fd int, speed uint32) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("%w: not a serial line", err)
	}
	t.Iflag, t.Oflag, t.Lflag = 0, 0, 0
	t.Cflag = unix.CS8 | unix.CREAD | unix.CLOCAL | speed
	t.Ispeed, t.Ospeed = speed, speed
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(fd, unix.TCSETS, t)
}

// wake pulses the line that wakes up a sleeping robot (BRC, at RTS of the manufacturer's
// cable). It ignores a line without RTS.
func wake(f *os.File) {
	c, err := f.SyscallConn()
	if err != nil {
		return
	}
	set := func(req uint) {
		_ = c.Control(func(fd uintptr) { _ = unix.IoctlSetPointerInt(int(fd), req, unix.TIOCM_RTS) }) // some lines do not have it
	}
	set(unix.TIOCMBIS)
	<-time.After(wakeTime) // the robot ignores a shorter pulse
	set(unix.TIOCMBIC)
}

const wakeTime = 100 * time.Millisecond
