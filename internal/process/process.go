// Package process runs programs for drivers: with a list of arguments and never through a
// shell, with a time limit, and with bounded output. Processes that a program has started
// end with it.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Spec describes a program and the limits of its run.
type Spec struct {
	Args     []string      // the program and its arguments
	Limit    time.Duration // run time; after it the program and all processes that it has started are killed
	MaxBytes int           // limit for its output
	Env      []string      // in addition to PATH, LANG and HOME
}

// Result is the result of a run.
type Result struct {
	Output     []byte
	StderrLine string // last line of its standard error
	Code       int    // exit code
}

const (
	maxStderr = 300             // bytes
	reap      = 2 * time.Second // time for a killed process to end
)

// ErrLimit reports that a program exceeded its time limit.
var ErrLimit = errors.New("was killed")

// Run runs a program and waits for its end. The error is nil if the program has exited by
// itself, with any code.
func Run(ctx context.Context, s Spec) (Result, error) {
	late := fmt.Errorf("%s %w after %v", filepath.Base(s.Args[0]), ErrLimit, s.Limit)
	ctx, cancel := context.WithTimeoutCause(ctx, s.Limit, late)
	defer cancel()
	out, stderr := &bounded{max: s.MaxBytes, full: cancel}, &tail{}
	c := exec.CommandContext(ctx, s.Args[0], s.Args[1:]...)
	c.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=" + os.Getenv("HOME")}, s.Env...)
	c.Dir = "/"
	c.Stdout, c.Stderr = out, stderr
	c.WaitDelay = reap
	ownGroup(c)
	err := c.Run()
	r := Result{Output: out.data, StderrLine: stderr.line(), Code: -1}
	if c.ProcessState != nil {
		r.Code = c.ProcessState.ExitCode()
	}
	ended, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case out.over:
		return r, fmt.Errorf("%s writes more than %d bytes; messkit has killed it", filepath.Base(s.Args[0]), s.MaxBytes)
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case ok && !ended.Exited():
		return r, fmt.Errorf("%s was terminated by a signal: %v%s", filepath.Base(s.Args[0]), ended, r.quoted())
	case err != nil && !ok:
		return r, err
	}
	return r, nil
}

// Failed returns an error for an exit code other than 0, else nil.
func (r Result) Failed(program string) error {
	if r.Code == 0 {
		return nil
	}
	return fmt.Errorf("%s exited with code %d%s", filepath.Base(program), r.Code, r.quoted())
}

func (r Result) quoted() string {
	if r.StderrLine == "" {
		return ""
	}
	return fmt.Sprintf(", saying %q", r.StderrLine)
}

// bounded stores output up to a limit. It has no ReadFrom, because ReadFrom would ignore
// the limit.
type bounded struct {
	data []byte
	max  int
	over bool
	full func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > b.max {
		b.over = true
		b.full()
		return 0, errors.New("too much")
	}
	b.data = append(b.data, p...)
	return len(p), nil
}

// tail stores the end of the output.
type tail struct{ last []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p...)
	t.last = slices.Clone(t.last[max(0, len(t.last)-maxStderr):])
	return len(p), nil
}

// line returns the last line.
func (t *tail) line() string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.last), "?")), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// shells lists programs that execute their arguments.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh", "ash", "busybox", "env", "eval", "sudo", "su", "doas", "xargs", "ssh"}

// Check returns the reason why a driver must not run a program: the program does not exist,
// another user could replace it, or it is a shell.
func Check(args []string) error {
	if len(args) == 0 {
		return errors.New("is empty; write a program and its arguments, like [/usr/bin/lamp, --on]")
	}
	program := args[0]
	if !filepath.IsAbs(program) || filepath.Clean(program) != program {
		return fmt.Errorf("%q is not a full path; write it like /usr/bin/lamp", program)
	}
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return fmt.Errorf("cannot run %q: %w", program, err)
	}
	for _, name := range []string{program, real} {
		if slices.Contains(shells, filepath.Base(name)) {
			return fmt.Errorf("%q executes its arguments; write the program itself, or a script of your own", program)
		}
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return fmt.Errorf("cannot run %q: %w", program, err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("%q is not executable; chmod +x makes a script executable", program)
	}
	return guarded(program, real)
}

// guarded returns an error if other users can write the program or a folder on its path.
func guarded(program, real string) error {
	for name := real; ; name = filepath.Dir(name) {
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("cannot run %q: %w", program, err)
		}
		sticky := info.IsDir() && info.Mode()&os.ModeSticky != 0 // other users cannot replace its files
		if info.Mode().Perm()&0o022 != 0 && !sticky {
			return fmt.Errorf("other users can replace %q, because they can write %s; run chmod go-w on it", program, name)
		}
		if name == filepath.Dir(name) {
			return nil
		}
	}
}
