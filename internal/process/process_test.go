package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/process"
)

// script writes a program.
func script(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "program")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func run(t *testing.T, text string, limit time.Duration, args ...string) (process.Result, error) {
	t.Helper()
	return process.Run(t.Context(), process.Spec{Args: append([]string{script(t, text)}, args...), Limit: limit, MaxBytes: 1000})
}

func TestRun(t *testing.T) {
	r, err := run(t, `printf '%s|' "$@"; echo "one
two" >&2; exit 3`, time.Minute, "a b", "$HOME; rm -rf /", "*")
	if err != nil || string(r.Output) != "a b|$HOME; rm -rf /|*|" || r.Code != 3 || r.StderrLine != "two" {
		t.Errorf("%q %q %d: %v", r.Output, r.StderrLine, r.Code, err)
	}
	if err := r.Failed("/usr/bin/lamp"); err == nil || err.Error() != `lamp exited with code 3, saying "two"` {
		t.Error(err)
	}
	t.Setenv("SECRET_TOKEN", "canary")
	if r, err := run(t, "env", time.Minute); err != nil || strings.Contains(string(r.Output), "canary") {
		t.Errorf("%s: %v", r.Output, err)
	}
}

// Run kills a program that exceeds its time limit, and the processes that it has started.
func TestLimit(t *testing.T) {
	t.Parallel()
	note := filepath.Join(t.TempDir(), "child")
	r, err := run(t, "sleep 1000 & echo $! > "+note+"; wait", 3*time.Second)
	if !errors.Is(err, process.ErrLimit) || err.Error() != "program was killed after 3s" {
		t.Fatalf("%+v: %v", r, err)
	}
	text, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for alive(child) && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if alive(child) {
		t.Error("the child process is running, want it ended")
	}
}

// alive reports whether a process runs. A process that has exited may still exist as a
// zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	return !strings.Contains(string(stat), ") Z ")
}

func TestBounds(t *testing.T) {
	if r, err := run(t, "yes", time.Minute); err == nil || !strings.Contains(err.Error(), "writes more than 1000 bytes") || len(r.Output) > 1000 {
		t.Errorf("%d bytes: %v", len(r.Output), err)
	}
	if r, err := run(t, "head -c 100000 /dev/zero | tr '\\0' x >&2; echo >&2; echo no >&2; exit 1", time.Minute); err != nil || r.StderrLine != "no" {
		t.Errorf("%q: %v", r.StderrLine, err)
	}
	if _, err := run(t, "kill -SEGV $$", time.Minute); err == nil || !strings.Contains(err.Error(), "was terminated by a signal: signal") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := process.Run(ctx, process.Spec{Args: []string{"/bin/true"}, Limit: time.Minute}); !errors.Is(err, why) {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	good := script(t, "")
	open := script(t, "")
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	plain := script(t, "")
	if err := os.Chmod(plain, 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "lamp")
	if err := os.Symlink("/bin/sh", link); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{good, "--on"}, ""},
		{nil, "is empty"},
		{[]string{"lamp"}, `"lamp" is not a full path`},
		{[]string{"/usr/bin/../bin/lamp"}, "is not a full path"},
		{[]string{"/nonexistent/lamp"}, "cannot run"},
		{[]string{"/bin/sh", "-c", "rm"}, "executes its arguments"},
		{[]string{link, "-c", "rm"}, "executes its arguments"},
		{[]string{filepath.Dir(good)}, "is not executable"},
		{[]string{plain}, "is not executable"},
		{[]string{open}, "other users can replace"},
	} {
		err := process.Check(tt.args)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("Check(%q) = %v, want %q", tt.args, err, tt.want)
		}
	}
}
