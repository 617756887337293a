// Package command runs programs for drivers: with a list of arguments and never
// through a shell, for a limited time, with bounded output, and so that what they
// have started ends with them.
package command

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

// Spec is a program and how it runs.
type Spec struct {
	Args     []string      // the program and its arguments
	Limit    time.Duration // for it to run; then it and all it has started are killed
	MaxBytes int           // of its output
	Env      []string      // beside PATH, LANG and HOME
}

// Result is what came of it.
type Result struct {
	Output []byte
	Said   string // the end of what it said on its standard error, in one line
	Code   int    // its exit code
}

const (
	maxSaid = 300             // bytes
	reap    = 2 * time.Second // for what was killed to be gone
)

// ErrLimit is a program that ran for too long.
var ErrLimit = errors.New("was killed")

// Run runs a program to its end. The error is nil where it has ended by itself,
// with whatever code.
func Run(ctx context.Context, s Spec) (Result, error) {
	late := fmt.Errorf("%s %w after %v", filepath.Base(s.Args[0]), ErrLimit, s.Limit)
	ctx, cancel := context.WithTimeoutCause(ctx, s.Limit, late)
	defer cancel()
	out, said := &bounded{max: s.MaxBytes, full: cancel}, &tail{}
	c := exec.CommandContext(ctx, s.Args[0], s.Args[1:]...)
	c.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=" + os.Getenv("HOME")}, s.Env...)
	c.Dir = "/"
	c.Stdout, c.Stderr = out, said
	c.WaitDelay = reap
	own(c)
	err := c.Run()
	r := Result{Output: out.data, Said: said.line(), Code: -1}
	if c.ProcessState != nil {
		r.Code = c.ProcessState.ExitCode()
	}
	ended, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case out.over:
		return r, fmt.Errorf("%s says more than %d bytes, and was killed", filepath.Base(s.Args[0]), s.MaxBytes)
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case ok && !ended.Exited():
		return r, fmt.Errorf("%s ended by itself: %v%s", filepath.Base(s.Args[0]), ended, r.quoted())
	case err != nil && !ok:
		return r, err
	}
	return r, nil
}

// Failed is what to say of a program that has ended with a code other than 0; nil
// for one that has not.
func (r Result) Failed(program string) error {
	if r.Code == 0 {
		return nil
	}
	return fmt.Errorf("%s ended with code %d%s", filepath.Base(program), r.Code, r.quoted())
}

func (r Result) quoted() string {
	if r.Said == "" {
		return ""
	}
	return fmt.Sprintf(", saying %q", r.Said)
}

// bounded keeps output up to a limit. It has no ReadFrom, which would go past
// that.
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

// tail keeps the end of what is written.
type tail struct{ last []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p...)
	t.last = slices.Clone(t.last[max(0, len(t.last)-maxSaid):])
	return len(p), nil
}

// line is the last line that says something.
func (t *tail) line() string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.last), "?")), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// shells are programs whose arguments are programs.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh", "ash", "busybox", "env", "eval", "sudo", "su", "doas", "xargs", "ssh"}

// Check tells why a program must not be run: it is not there, somebody else could
// have put something else in its place, or it is a shell.
func Check(args []string) error {
	if len(args) == 0 {
		return errors.New("is empty; write a program and its arguments, like [/usr/bin/lamp, --on]")
	}
	program := args[0]
	if !filepath.IsAbs(program) || filepath.Clean(program) != program {
		return fmt.Errorf("%q is no full path; write it like /usr/bin/lamp", program)
	}
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return fmt.Errorf("%q cannot be run: %w", program, err)
	}
	for _, name := range []string{program, real} {
		if slices.Contains(shells, filepath.Base(name)) {
			return fmt.Errorf("%q runs what its arguments say; write the program itself, or a script of your own", program)
		}
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return fmt.Errorf("%q cannot be run: %w", program, err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("%q is no program; chmod +x makes one of a script", program)
	}
	return guarded(program, real)
}

// guarded tells of a program, or a folder that it is in, that others may write.
func guarded(program, real string) error {
	for name := real; ; name = filepath.Dir(name) {
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("%q cannot be run: %w", program, err)
		}
		sticky := info.IsDir() && info.Mode()&os.ModeSticky != 0 // others cannot replace what is in it
		if info.Mode().Perm()&0o022 != 0 && !sticky {
			return fmt.Errorf("%q could be replaced by others, as they may write %s; chmod go-w it", program, name)
		}
		if name == filepath.Dir(name) {
			return nil
		}
	}
}
