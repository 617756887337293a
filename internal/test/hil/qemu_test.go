package hil_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Machine is a machine that qemu emulates.
type Machine struct {
	Qemu    string   // its program
	How     string   // how to get the program
	Options []string // of qemu, without the kernel
	Console string   // the kernel's name for the first serial line
	Append  string   // added to the kernel's command line
}

// Missing returns a MissingError if the emulator is not installed.
func (m Machine) Missing() error { return need(m.Qemu, m.How) }

// Boot runs a kernel with an image until its test program has ended, and writes the console's
// text to out. The machine's own files are in folder. Boot returns the test program's exit code,
// or an error if there is none.
//
// A line "HIL-ASK COMMAND" of the console is a command for qemu's monitor, which observes the
// machine from outside. Boot sends the answer back as a line.
func (m Machine) Boot(ctx context.Context, folder, kernel, image string, out io.Writer) (code int, err error) {
	if err := m.Missing(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // kills qemu: some machines cannot switch themselves off
	monitor := filepath.Join(folder, "monitor")
	c := exec.CommandContext(ctx, m.Qemu, append([]string{
		"-display", "none", "-no-reboot", "-kernel", kernel, "-initrd", image,
		"-append", fmt.Sprintf("console=%s panic=-1 quiet rdinit=/init %s", m.Console, m.Append),
		"-monitor", "unix:" + monitor + ",server=on,wait=off",
	}, m.Options...)...)
	in, err := c.StdinPipe()
	if err != nil {
		return 0, err
	}
	console, err := c.StdoutPipe()
	if err != nil {
		return 0, err
	}
	out = &locked{w: out} // both qemu and its machine write to it
	c.Stderr = out
	c.WaitDelay = 5 * time.Second
	if err := c.Start(); err != nil {
		return 0, err
	}
	code, err = talk(console, in, monitor, out)
	cancel()
	_ = c.Wait() // killed above, or off
	return code, err
}

// locked serializes concurrent writes.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes p. It is safe for concurrent use.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// errSilent reports a console that ended without a result.
var errSilent = errors.New("the machine went off before its tests had ended; look at its console")

// talk follows the console until the result.
func talk(console io.Reader, in io.Writer, monitor string, out io.Writer) (code int, err error) {
	lines := bufio.NewScanner(console)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), "\r")
		_, _ = fmt.Fprintln(out, line) // an error of the log must not end the run
		_, result, ended := strings.Cut(line, "HIL-RESULT ")
		_, question, asks := strings.Cut(line, "HIL-ASK ")
		switch {
		case ended:
			return strconv.Atoi(strings.TrimSpace(result))
		case asks:
			answer, err := ask(monitor, question)
			if err != nil {
				answer = "error " + err.Error()
			}
			if _, err := fmt.Fprintln(in, answer); err != nil {
				return 0, err
			}
		}
	}
	return 0, errors.Join(errSilent, lines.Err())
}

// prompt is the monitor's prompt for a command.
const prompt = "(qemu) "

// colors matches the escape sequences that the monitor uses to move the cursor.
var colors = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)

// ask sends a command to qemu's monitor and returns the answer.
func ask(monitor, question string) (string, error) {
	c, err := net.DialTimeout("unix", monitor, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }() // its answer is complete
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	r := bufio.NewReader(c)
	if _, err := until(r, prompt); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(c, question); err != nil {
		return "", err
	}
	answer, err := until(r, prompt)
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSpace(colors.ReplaceAllString(answer, "")), "\n")
	return strings.TrimSpace(lines[len(lines)-1]), nil
}

// until reads up to end, and returns the text before it.
func until(r *bufio.Reader, end string) (string, error) {
	var all strings.Builder
	for !strings.HasSuffix(all.String(), end) {
		b, err := r.ReadByte()
		if err != nil {
			return "", err
		}
		all.WriteByte(b)
	}
	return strings.TrimSuffix(all.String(), end), nil
}
