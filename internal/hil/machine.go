package hil

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
	How     string   // how to get that
	Options []string // of qemu, without the kernel
	Console string   // the kernel's name for the first line that is read and written
	Append  string   // to the kernel's command line
}

// Missing is a MissingError where the emulator is not there.
func (m Machine) Missing() error { return need(m.Qemu, m.How) }

// Boot runs a kernel with an image until its test program has ended, and writes
// what its console says to out. folder is for the machine's own files. The test
// program's exit code is returned; an error where it has none.
//
// A line "HIL-ASK COMMAND" of the console is a question to qemu's monitor, which
// is outside of the machine: its answer goes back as a line.
func (m Machine) Boot(ctx context.Context, folder, kernel, image string, out io.Writer) (code int, err error) {
	if err := m.Missing(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends qemu: some machines cannot switch themselves off
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
	out = &locked{w: out} // qemu speaks as well as its machine
	c.Stderr = out
	c.WaitDelay = 5 * time.Second
	if err := c.Start(); err != nil {
		return 0, err
	}
	code, err = talk(console, in, monitor, out)
	cancel()
	_ = c.Wait() // it was ended, or is off
	return code, err
}

// locked takes what several say at a time.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes p.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// errSilent is a console that ended without a result.
var errSilent = errors.New("the machine went off before its tests had ended; look at its console")

// talk follows the console to the result.
func talk(console io.Reader, in io.Writer, monitor string, out io.Writer) (code int, err error) {
	lines := bufio.NewScanner(console)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), "\r")
		_, _ = fmt.Fprintln(out, line) // who does not listen misses it
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

// prompt is what the monitor says when it waits for a command.
const prompt = "(qemu) "

// colours are what the monitor moves the cursor with.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)

// ask asks qemu's monitor.
func ask(monitor, question string) (string, error) {
	c, err := net.DialTimeout("unix", monitor, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }() // it has answered
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
	lines := strings.Split(strings.TrimSpace(colours.ReplaceAllString(answer, "")), "\n")
	return strings.TrimSpace(lines[len(lines)-1]), nil
}

// until reads to the end of a word, which is left out.
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
