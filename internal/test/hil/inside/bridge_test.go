//go:build linux

package inside_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/board"
)

// label is the label of the bridge's GPIO chip in the kernel.
const label = "cp2112_gpio"

// remote is a connected bridge in another process.
type remote struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	mu  sync.Mutex
}

// plug connects a bridge, and waits until the kernel has found it.
func plug(t *testing.T) *remote {
	t.Helper()
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), "HIL_BRIDGE=1")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	r := &remote{cmd: c, in: in, out: bufio.NewReader(out)}
	t.Cleanup(r.unplug)
	eventually(t, "the kernel has the bridge's chip", func() error {
		_, err := board.Find(board.Kernel{}, board.Line{Chip: label, Line: "0"})
		return err
	})
	return r
}

// unplug disconnects the bridge immediately, as pulling the plug does.
func (r *remote) unplug() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait() // killed above
}

// ask sends a command to the bridge and returns the numbers of its answer.
func (r *remote) ask(t *testing.T, format string, args ...any) []int {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := fmt.Fprintf(r.in, format+"\n", args...); err != nil {
		t.Fatal(err)
	}
	line, err := r.out.ReadString('\n')
	if err != nil || strings.HasPrefix(line, "error") {
		t.Fatalf("the bridge: %s %v", line, err)
	}
	var list []int
	for _, word := range strings.Fields(line) {
		var n int
		if _, err := fmt.Sscan(word, &n); err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}

// level returns the level of a line, as the bridge reports it.
func (r *remote) level(t *testing.T, line int) bool {
	t.Helper()
	return r.ask(t, "gpio")[1]>>line&1 == 1
}

func (r *remote) isOutput(t *testing.T, line int) bool {
	t.Helper()
	return r.ask(t, "gpio")[0]>>line&1 == 1
}

func (r *remote) writes(t *testing.T) int {
	t.Helper()
	return r.ask(t, "gpio")[2]
}

func (r *remote) drive(t *testing.T, line int, level bool) {
	t.Helper()
	r.ask(t, "drive %d %d", line, map[bool]int{true: 1}[level])
}

// eventually waits until holds returns nil. It fails after two minutes.
func eventually(t *testing.T, what string, holds func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for err := holds(); err != nil; err = holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within two minutes: %v", what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
