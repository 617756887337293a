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

// process is a guard that was started.
type process struct {
	*os.File // its answers
	words    *os.File
	process  *os.Process
	reaper   errgroup.Group
}

// Start starts a guard: this binary, in a session of its own, so that what
// ends this program does not end it. will is the file of its succession.
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
		Path: name, Args: []string{"messkit", "guard", "--will", will}, Dir: "/",
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
	return p, nil // its ends are its own now, closed or not
}

// Executable is this binary, also after another has taken its name: a guard has to
// understand what this program says.
func Executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

func (p *process) Write(word []byte) (int, error) { return p.words.Write(word) }

// Close leaves it: it sees that nobody speaks any more.
func (p *process) Close() error { return errors.Join(p.words.Close(), p.File.Close()) }

// Kill ends it.
func (p *process) Kill() error {
	err := p.process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	ended := p.reaper.Wait() // how it has ended, which is not how it should
	return errors.Join(err, ended, p.Close())
}

// Detach makes this process outlive what ends its parent: a signal to the
// whole group, and a log that nobody reads any more.
func Detach() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	_ = os.WriteFile("/proc/self/comm", []byte("messkit-guard"), 0) // for who lists processes; elsewhere there is no such file
}
