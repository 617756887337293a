package transfer_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/messkit/messkit/exchange/store/transfer"
)

// killFolders names the folders of the source and the target, for the process that a test kills.
const killFolders = "MESSKIT_TEST_COPY"

// A process that copies between folders gets SIGKILL several times, and the next one goes on. The copy
// is the same as one without a kill.
func TestKilledCopyGoesOn(t *testing.T) {
	if dir := os.Getenv(killFolders); dir != "" {
		copyForever(t, dir)
		return
	}
	t.Parallel()
	dir := t.TempDir()
	const threads = 150
	from, closeFrom := openFolder(t, dir+"/from")
	fill(t, from, threads)
	closeFrom()
	for _, lines := range []int{1, 20, 50} {
		killAfter(t, dir, lines)
	}
	from = folder(t, dir+"/from")
	to := folder(t, dir+"/to")
	doc, err := to.Document(t.Context(), transfer.MarkKind, transfer.MarkID)
	if _, incomplete := transfer.Incomplete(doc); err != nil || !incomplete {
		t.Errorf("after the kills the mark is %s, %v", doc, err)
	}
	r := mustCopy(t, from, to)
	if r.Threads != threads || r.Copied == 0 || r.Copied > threads-70 {
		t.Errorf("the last run: %+v; want some of %d threads", r, threads)
	}
	if other := mustCopy(t, from, folder(t, t.TempDir())); other.Target != r.Target {
		t.Errorf("digest %s, and without a kill %s", r.Target, other.Target)
	}
}

// killAfter starts a copy in a process of its own, and kills it after some threads.
func killAfter(t *testing.T, dir string, threads int) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestKilledCopyGoesOn$")
	c.Env = append(os.Environ(), killFolders+"="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for lines := bufio.NewScanner(out); n < threads && lines.Scan(); n++ {
	}
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := c.Wait(); err == nil || n < threads {
		t.Fatalf("the copy ended after %d threads: %v", n, err)
	}
}

// copyForever copies, and writes a line for each thread.
func copyForever(t *testing.T, dir string) {
	_, err := transfer.Copy(t.Context(), folder(t, dir+"/from"), folder(t, dir+"/to"), transfer.Options{
		Source: "a test", Progress: func(p transfer.Progress) { fmt.Println(p.Step, p.Done) },
	})
	t.Fatalf("nobody has killed it: %v", err)
}
