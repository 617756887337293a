//go:build unix

package watchdog

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/watchdog"
)

// process is a running watchdog process.
type process struct {
	*os.File // its answers
	words    *os.File
	process  *os.Process
	reaper   errgroup.Group
}

// Start starts a watchdog: this binary, in its own session, so that signals to this program do
// not end it. will is the file of its Handover.
func Start(will string) (watchdog.Process, error) {
	answers, theirAnswers, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	theirWords, words, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, answers.Close(), theirAnswers.Close())
	}
	p := &process{File: answers, words: words}
	name, err := Executable()
	if err != nil {
		return nil, errors.Join(err, p.Close(), theirAnswers.Close(), theirWords.Close())
	}
	c := &exec.Cmd{
		Path: name, Args: arguments(will), Dir: "/",
		Stdin: theirWords, Stdout: theirAnswers, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	err = errors.Join(c.Start(), theirAnswers.Close(), theirWords.Close())
	if c.Process == nil {
		return nil, errors.Join(err, p.Close())
	}
	p.process = c.Process
	admit(p.process.Pid)
	p.reaper.Go(c.Wait)
	return p, nil // p owns the ends of the pipes now
}

// Executable returns the path of this binary, even if another file has taken its name. The
// watchdog must understand the messages of this version.
func Executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

func (p *process) Write(word []byte) (int, error) { return p.words.Write(word) }

// Close closes the pipes. The watchdog thereby detects the end of its agent.
func (p *process) Close() error { return errors.Join(p.words.Close(), p.File.Close()) }

// Kill ends the process immediately.
func (p *process) Kill() error {
	err := p.process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	ended := p.reaper.Wait() // the exit status, which is an error after Kill
	return errors.Join(err, ended, p.Close())
}

// Detach makes this process outlive its parent: it ignores signals to the process group, and
// writes to a closed log.
func Detach() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	_ = os.WriteFile("/proc/self/comm", []byte("messkit-guard"), 0) // the name in a list of processes; only Linux has this file
}
