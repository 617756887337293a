package selftest_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/selftest"
	"github.com/messkit/messkit/internal/localrpc"
	"github.com/messkit/messkit/internal/peer/peertest"
)

// runAsOtherUser calls f in a thread of another user.
func runAsOtherUser(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user; run this test as root")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	same := ^uintptr(0)
	if _, _, no := syscall.RawSyscall(syscall.SYS_SETRESUID, same, peertest.OtherUser, same); no != 0 {
		t.Skipf("another user cannot be had here: %v", no)
	}
	defer func() {
		if _, _, no := syscall.RawSyscall(syscall.SYS_SETRESUID, same, 0, same); no != 0 {
			t.Fatal(no)
		}
	}()
	f()
}

// Serve rejects another user before it reads any of its data.
func TestOtherUserIsRejected(t *testing.T) {
	folder := t.TempDir()
	serve(t, folder, func(context.Context, selftest.Query) selftest.Response { return selftest.Response{} })
	ask(t, folder, selftest.Query{})
	// The socket's name depends on the folder, which only root may read.
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for dir := folder; dir != "/" && dir != "/tmp"; dir = dir[:max(1, lastSlash(dir))] {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var conn net.Conn
	var err error
	runAsOtherUser(t, func() { conn, err = localrpc.Dial("trial", folder) })
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var a selftest.Response
	if err := json.NewDecoder(conn).Decode(&a); err != nil || a.Rejected == "" { // without a request
		t.Errorf("a stranger gets %+v, %v", a, err)
	}
}

func lastSlash(dir string) int {
	i := len(dir) - 1
	for i > 0 && dir[i] != '/' {
		i--
	}
	return i
}
