package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/store/transfer"
	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/mess"
)

// exporter returns a command that exports the threads of a server into a folder of home.
func exporter(t *testing.T, home string, server *natsserver.Server, more ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(buildMesskit(t), append([]string{"store", "export", server.URL(), "threads", "--replicas", "1", "--monitor", server.Monitor()}, more...)...)
	c.Dir, c.Env = home, append(os.Environ(), "HOME="+home)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// exportedFolders has messkit check each thread in the folder, and returns their number.
func exportedFolders(t *testing.T, dir string) int {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(dir, "state=*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(folders) == 0 {
		return 0
	}
	if out, err := exec.Command(buildMesskit(t), "thread", "check", "--data", dir).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	return len(folders)
}

// An export from a running exchange on NATS is killed several times, and leaves no half folder. The last run
// has all threads. With --follow a new thread comes into the folder by itself. No exchange starts on it.
func TestKilledExportGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a NATS server, an exchange and many exports")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	home := t.TempDir()
	_, operator := natsNode(t, home, server)
	const threads = 80
	for i := range threads {
		sendRequest(ctx, t, operator, mess.Request{ID: fmt.Sprint("r", i), Intent: "water the plants", Requires: []mess.Capability{{ID: "garden.water"}}})
	}
	folder := filepath.Join(home, "threads")
	for range 6 {
		c := exporter(t, home, server)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case <-ended: // it was faster
		case <-time.After(time.Duration(50+rand.IntN(400)) * time.Millisecond):
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended
		}
		exportedFolders(t, folder)
	}
	out, err := exporter(t, home, server, "--json").Output()
	var r transfer.Exported
	if err != nil || json.Unmarshal(out, &r) != nil || r.Threads != threads {
		t.Fatalf("%v: %s", err, out)
	}
	if n := exportedFolders(t, folder); n != threads {
		t.Errorf("%d folders, want %d", n, threads)
	}
	if _, err := os.Stat(filepath.Join(folder, "keys.json")); err == nil {
		t.Error("the export has keys")
	}
	follows(ctx, t, home, server, operator)
	p, err := start(folder, buildMesskit(t), "exchange", "--config", "/dev/stdin", "--listen", "127.0.0.1:0", "--mqtt", "off", "--data", folder)
	if err != nil {
		t.Fatal(err)
	}
	if p.running() || !strings.Contains(p.stderr.String(), "it is an export of NATS mess.home") {
		t.Errorf("an exchange on the export: %s", p.stderr.String())
	}
}

// follows has an export follow the exchange, and looks for a new thread in its folder.
func follows(ctx context.Context, t *testing.T, home string, server *natsserver.Server, operator *httpclient.Client) {
	t.Helper()
	c := exporter(t, home, server, "--follow")
	var out text
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Signal(os.Interrupt)
		if err := c.Wait(); err != nil {
			t.Errorf("the export that follows has ended with %v: %s", err, out.String())
		}
	}()
	eventually(t, "the export is level", func() bool { return strings.Contains(out.String(), "has 80 threads") })
	ref := sendRequest(ctx, t, operator, mess.Request{ID: "late", Intent: "water them again", Requires: []mess.Capability{{ID: "garden.water"}}})
	eventually(t, "the folder of the new thread", func() bool {
		found, err := filepath.Glob(filepath.Join(home, "threads", "state=received", ref+"*"))
		return err == nil && len(found) == 1
	})
}
