// Command guest is the first process of an emulated machine for tests. It loads the kernel
// modules in /modules, runs the test program /hil.test, prints its exit code, and switches the
// machine off.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	fmt.Println() // the console may be in the middle of a line
	if err := run(); err != nil {
		fmt.Println("HIL-ERROR", err)
	}
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF) // the host kills a machine that stays on
	for {
		time.Sleep(time.Hour) // the kernel panics without its first process
	}
}

func run() error {
	for _, m := range []struct{ what, where string }{
		{"proc", "/proc"},
		{"sysfs", "/sys"},
		{"devtmpfs", "/dev"},
		{"tmpfs", "/tmp"},
		{"debugfs", "/sys/kernel/debug"},
	} {
		_ = os.MkdirAll(m.where, 0o755)
		if err := unix.Mount(m.what, m.where, m.what, 0, ""); err != nil && err != unix.EBUSY {
			return fmt.Errorf("mount %s: %w", m.where, err)
		}
	}
	if err := loopback(); err != nil {
		return err
	}
	load()
	c := exec.Command("/hil.test", append([]string{"-test.v", "-test.timeout=480s"}, arguments()...)...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stdout
	c.Env = []string{"PATH=/", "HOME=/tmp", "TMPDIR=/tmp", "HIL_GUEST=1"}
	err := c.Run()
	fmt.Println("\nHIL-RESULT", c.ProcessState.ExitCode())
	return err
}

// loopback brings up 127.0.0.1.
func loopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}

// load loads the modules in the order of /modules/order, whose lines contain a name and
// parameters. It prints errors. Programs that need a failed module fail later.
func load() {
	f, err := os.Open("/modules/order")
	if err != nil {
		return // the kernel contains all drivers
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, parameters, _ := strings.Cut(lines.Text(), " ")
		m, err := os.Open("/modules/" + name)
		if err == nil {
			err = unix.FinitModule(int(m.Fd()), parameters, 0)
		}
		if err != nil && err != unix.EEXIST {
			fmt.Println("HIL-ERROR module", name, err)
		}
	}
}

// arguments returns the arguments of the test program: the list after hil= on the kernel's
// command line, separated by commas.
func arguments() []string {
	line, _ := os.ReadFile("/proc/cmdline")
	for _, word := range strings.Fields(string(line)) {
		if list, ok := strings.CutPrefix(word, "hil="); ok {
			return strings.Split(list, ",")
		}
	}
	return nil
}
