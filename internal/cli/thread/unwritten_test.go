package thread_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/cli/thread"
	"github.com/messkit/messkit/mess"

	threads "github.com/messkit/messkit/exchange/thread"
)

const ref = "2026-11-21-003"

// loggedThread returns a data folder with a thread that only the log of a store has. The store
// writes the folder of the thread when it closes.
func loggedThread(t *testing.T) (data string, store *files.Store) {
	t.Helper()
	data = t.TempDir()
	store, err := files.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	request := mess.Request{Intent: "look"}
	step := threads.Step{
		Envelope: threads.Envelope{Ref: ref, Requester: "agent", Status: mess.Completed, Created: now, Updated: now, Ver: 1, Intent: "look"},
		Messages: []mess.Message{{From: "agent", Ref: ref, Received: mess.TimeOf(now), Items: []mess.Item{&request}}},
	}
	if _, err := store.Append(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	return data, store
}

// hook is a writer that calls a function once, before the first write.
type hook struct {
	text  bytes.Buffer
	first func()
}

func (h *hook) Write(b []byte) (int, error) {
	if h.first != nil {
		h.first()
		h.first = nil
	}
	return h.text.Write(b)
}

// runThread runs a command of messkit thread.
func runThread(t *testing.T, stderr *hook, args ...string) error {
	t.Helper()
	c := thread.Command(output.NewEnv(nil, io.Discard, stderr))
	c.SetArgs(args)
	c.SetErr(stderr)
	c.SilenceErrors, c.SilenceUsage = true, true
	return c.ExecuteContext(t.Context())
}

// The exchange writes the folder of a thread a moment after its last step. A command that needs the
// folder waits for it.
func TestCommandsWaitForTheFolder(t *testing.T) {
	for _, args := range [][]string{{"export", ref, "--to", filepath.Join(t.TempDir(), "a.zip")}, {"show", ref}, {"verify", ref}, {"check", ref}} {
		t.Run(args[0], func(t *testing.T) {
			data, store := loggedThread(t)
			stderr := &hook{first: func() {
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			}}
			err := runThread(t, stderr, append(args, "--data", data)...)
			if err != nil && !errors.Is(err, output.ErrQuiet) { // verify finds no receipt
				t.Error(err)
			}
			if !strings.Contains(stderr.text.String(), ref+": the exchange has not written its folder yet; waiting up to 5s\n") {
				t.Errorf("stderr: %q", stderr.text.String())
			}
			if args[0] != "export" {
				return
			}
			if info, err := os.Stat(args[3]); err != nil || info.Size() == 0 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
}

// If the folder does not appear, the command says after some seconds that the thread exists. An
// unknown thread gets its error at once.
func TestExportOfAThreadWithoutAFolder(t *testing.T) {
	data, store := loggedThread(t)
	for name, c := range map[string]struct {
		ref, want, hint string
		wait            time.Duration
	}{
		"in the log": {ref, ref + ": the exchange has this thread, and has not written its folder in " + data + " yet", "messkit show " + ref + " reads it from the exchange", 5 * time.Second},
		"unknown":    {"2026-11-21-004", "2026-11-21-004: there is no such thread in " + data, "messkit thread list lists them", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := runThread(t, &hook{}, "export", c.ref, "--data", data)
				hint, ok := errors.AsType[*output.HintError](err)
				if !ok || err.Error() != c.want || !strings.HasPrefix(hint.Hint, c.hint) {
					t.Errorf("%v (%v), want %s (%s)", err, hint, c.want, c.hint)
				}
				if took := time.Since(start); took != c.wait {
					t.Errorf("after %v, want %v", took, c.wait)
				}
			})
		})
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}
