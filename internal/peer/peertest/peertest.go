// Package peertest lets another user of this machine speak to a server.
package peertest

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// OtherUser is the id of another user, who owns nothing.
const OtherUser = 65534

// speak sends its standard input to a TCP port of this machine, and prints what
// comes back until nothing does for a while.
const speak = `exec 3<>"/dev/tcp/127.0.0.1/$1" && cat >&3 && timeout "$2" cat <&3; exit 0`

// Speak connects to an address of this machine as another user, sends text, and
// returns what comes back until the server closes or the time is over. It skips the
// test where this process may not become another user.
func Speak(t testing.TB, uid uint32, addr, text string, within time.Duration) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user; run this test as root")
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "bash", "-c", speak, "bash", port, within.String())
	c.Dir = "/"
	c.Stdin = strings.NewReader(text)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := c.Output()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, syscall.EPERM) {
		t.Skipf("another user cannot be had here: %v", err)
	} else if err != nil {
		t.Fatalf("as user %d: %v\n%s", uid, err, out)
	}
	return string(out)
}
