package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/internal/test/disk"
	"github.com/messkit/messkit/mess"
)

// node is a node: an executor whose journal has a separate disk, with its exchange.
type node struct {
	*testing.T
	*apiClient
	p       *process
	wire    outputFile
	journal string // data folder of the executor
	home    string
	asked   int
}

// newNode prepares a node with its journal in dir. It does not start the node.
func newNode(t *testing.T, dir string) *node {
	return &node{T: t, wire: newOutputFile(t), journal: dir, home: t.TempDir()}
}

// start starts the node, with through as the prefix of the command line.
func (b *node) start(binary string, through ...string) {
	b.Helper()
	head := fmt.Sprintf("exchange: {listen: \"127.0.0.1:0\", data: %s}\nagent: {id: pi, data: %s}", filepath.Join(b.home, "exchange"), b.journal)
	config := b.wire.writeConfig(b.T, head, "initial: off}\n  cam: {driver: sim-camera, room: fridge, sees: [fridge]")
	p, err := start(b.home, append(through, binary, "run", "--config", config)...)
	if err != nil || p.url == "" {
		b.Fatalf("%v %s", err, &p.stderr)
	}
	key, err := operatorKey(filepath.Join(b.home, "exchange"))
	if err != nil {
		b.Fatal(err)
	}
	b.p, b.apiClient = p, newAPIClient(p.url, key, "")
}

// request sends a request, waits until the thread ends, and returns the thread as JSON.
func (b *node) request(intent string) (status mess.Code, text string) {
	b.Helper()
	b.asked++
	id := fmt.Sprintf("r%d", b.asked)
	code, body, err := b.call(b.operator, http.MethodPost, "/requests", fmt.Sprintf(`{"id":%q,"intent":%q}`, id, intent))
	if err != nil || code != http.StatusCreated {
		b.Fatalf("%d %s, %v\n%s", code, body, err, &b.p.stderr)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		_, body, err = b.call(b.operator, http.MethodGet, "/requests/"+id, "")
		var answer struct {
			Thread struct {
				Status mess.Code `json:"status"`
			} `json:"thread"`
		}
		if err := errors.Join(err, json.Unmarshal(body, &answer)); err != nil {
			b.Fatal(err)
		}
		if answer.Thread.Status.Terminal() {
			return answer.Thread.Status, string(body)
		}
	}
	b.Fatalf("%s has not ended: %s", intent, body)
	return "", ""
}

// wantResult sends a request and compares its terminal status and reason.
func (b *node) wantResult(intent string, want mess.Code, reason string) {
	b.Helper()
	if got, text := b.request(intent); got != want || !strings.Contains(text, reason) {
		b.Fatalf("%s: %s, want %s with %q: %s\n%s", intent, got, want, reason, text, &b.p.stderr)
	}
}

// wantDisarmed checks a node whose journal rejects records: it answers questions, and declines
// everything that actuates.
func (b *node) wantDisarmed(reason string) {
	b.Helper()
	was := b.wire.lastState()
	b.wantResult("turn on the lamp", mess.Declined, reason)
	b.wantResult("what's in the fridge?", mess.Completed, "milk")
	if b.wire.lastState() != was {
		b.Errorf("the state of the lamp has changed")
	}
	_, text, err := b.call(b.operator, http.MethodGet, "/executors", "")
	if err != nil || strings.Contains(string(text), "switch-on") || !strings.Contains(string(text), "read-switch") {
		b.Errorf("offered: %s, %v; want what looks, and nothing else", text, err)
	}
}

// waitUntilArmed waits until the executor switches the lamp again. Requests may fail before that.
func (b *node) waitUntilArmed() {
	b.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if got, _ := b.request("turn on the lamp"); got == mess.Completed && b.wire.lastState() == "on" {
			return
		}
	}
	b.Fatalf("the executor does not become available again: %s", &b.p.stderr)
}

// stop stops the node. Its journal must be valid then.
func (b *node) stop() {
	b.Helper()
	if err := b.p.stop(); err != nil {
		b.Errorf("%v %s", err, &b.p.stderr)
	}
	r, err := journal.Read(filepath.Join(b.journal, "journal"))
	if err != nil || len(r.Violations) > 0 {
		b.Errorf("%v, %v", r.Violations, err)
	}
	for _, e := range r.Threads() {
		if e.State == journal.StateIntent {
			b.Errorf("%s stays %s", e.Ref, e.State)
		}
	}
}

// tmpfs mounts a disk in memory with that number of bytes.
func tmpfs(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// An executor that starts on a full or read-only disk disarms itself. It arms itself as soon as
// the disk accepts writes again.
func TestExecutorDisarmsOnUnwritableDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts messkit")
	}
	if !disk.MayMount(t) {
		return
	}
	binary := buildMesskit(t)
	remount := func(flags uintptr) func(dir string) error {
		return func(dir string) error { return syscall.Mount("", dir, "", syscall.MS_REMOUNT|flags, "") }
	}
	for _, disk := range []struct {
		name, wantText string
		spoil, relax   func(dir string) error
	}{
		{"full", "no space: lamp does not act now", fillDisk, func(dir string) error { return os.Remove(filepath.Join(dir, "fill")) }},
		{"read-only", "cannot record its acts", remount(syscall.MS_RDONLY), remount(0)},
	} {
		t.Run(disk.name, func(t *testing.T) {
			b := newNode(t, tmpfs(t, 4<<20))
			b.start(binary)
			b.wantResult("turn on the lamp", mess.Completed, "")
			b.wantResult("turn off the lamp", mess.Completed, "")
			if err := errors.Join(b.p.stop(), disk.spoil(b.journal)); err != nil {
				t.Fatal(err)
			}
			b.start(binary)
			b.wantDisarmed(disk.wantText)
			if got := b.p.stderr.String(); !strings.Contains(got, "disarmed: the journal takes no records") {
				t.Errorf("stderr is %s, want that the executor is disarmed", got)
			}
			if err := disk.relax(b.journal); err != nil {
				t.Fatal(err)
			}
			b.waitUntilArmed()
			b.stop()
		})
	}
}

// The journal rejects new tasks before the disk is completely full. The executor completes and
// reports all tasks before that, and the remaining space suffices for the reports of the running
// tasks.
func TestJournalRejectsTasksBeforeDiskIsFull(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a disk")
	}
	if !disk.MayMount(t) {
		return
	}
	dir := tmpfs(t, 4<<20)
	j, err := journal.Open(filepath.Join(dir, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	if err := fillDisk(dir); err != nil {
		t.Fatal(err)
	}
	running, text := 0, strings.Repeat("x", 10<<10)
	report := mess.Message{Items: []mess.Item{&mess.Status{Code: mess.Completed, Message: text}}}
	done := 0
	for ; done < 1000; done++ {
		if err = j.EnsureRoom(t.Context()); err != nil {
			break
		}
		ref := fmt.Sprint("r", done)
		err = j.Intent(t.Context(), journal.Intent{Ref: ref, Epoch: 1, Plan: json.RawMessage("{}")})
		if done%10 == 0 {
			running++ // a task that runs for a long time
		} else {
			err = errors.Join(err, j.Done(t.Context(), ref, 1, report))
		}
		if done%10 > 1 { // the exchange is unreachable at times
			_ = j.Sent(t.Context(), ref) // the compaction may lack space
		}
		if err != nil {
			t.Fatalf("task %d, after the journal was ready for it: %v", done, err)
		}
	}
	if !journal.NoSpace(err) || done < 20 || j.Err() != nil {
		t.Fatalf("after %d tasks: %v, %v; want no space, and a journal in order", done, err, j.Err())
	}
	for i := range running {
		if err := j.Done(t.Context(), fmt.Sprint("r", i*10), 1, report); err != nil {
			t.Errorf("report %d of %d that were under way: %v", i, running, err)
		}
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "fill")), j.EnsureRoom(t.Context()), j.Close()); err != nil {
		t.Error(err)
	}
}

// After a failed sync the journal never syncs the same descriptor again: it closes, reopens and
// reads the file, and writes everything anew. The interrupted task ends with a true status, and
// the next one succeeds.
func TestFailedSyncReopensJournal(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and traces messkit")
	}
	needStrace(t)
	binary := buildMesskit(t)
	seen := 0
	for nth := 1; nth <= 5; nth++ { // strace counts per thread, so the later calls may not exist
		t.Run(fmt.Sprint("call ", nth), func(t *testing.T) {
			b := newNode(t, t.TempDir())
			b.start(binary) // creates the files
			b.wantResult("turn off the lamp", mess.Completed, "")
			b.stop()
			log := filepath.Join(b.home, "strace")
			f := fault{call: "fsync,close", errno: "EIO", nth: nth, path: "/journal/*.wal"}
			through := f.strace(b.journal, log)
			for i, arg := range through {
				through[i] = strings.Replace(arg, "inject=fsync,close:", "inject=fsync:", 1)
			}
			b.start(binary, through...)
			for range 4 {
				was := b.wire.lastState()
				switch got, text := b.request("turn on the lamp"); {
				case got == mess.Completed && b.wire.lastState() != "on":
					t.Errorf("completed, and the lamp is off: %s", text)
				case got == mess.Failed && (!strings.Contains(text, `"effect":"none"`) || b.wire.lastState() != was):
					t.Errorf("failed, and the lamp was %s and is %s: %s", was, b.wire.lastState(), text)
				}
			}
			b.waitUntilArmed()
			b.stop()
			seen += checkClosedAfterFailedSync(t, log)
		})
	}
	if seen < 3 {
		t.Errorf("only %d syncs have failed", seen)
	}
}

var tracedCall = regexp.MustCompile(`(fsync|close)\((\d+)<`)

// checkClosedAfterFailedSync checks a trace: after a failed sync, a close of the descriptor precedes its next
// sync. It returns the number of failed syncs.
func checkClosedAfterFailedSync(t *testing.T, log string) (seen int) {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	failed := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		call := tracedCall.FindStringSubmatch(line)
		if call == nil {
			continue
		}
		switch fd := call[2]; {
		case call[1] == "close":
			delete(failed, fd)
		case failed[fd]:
			t.Errorf("synced again after a failure: %s", line)
		case strings.Contains(line, "(INJECTED)"):
			failed[fd] = true
			seen++
		}
	}
	return seen
}
