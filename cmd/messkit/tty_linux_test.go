package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo-terminal of 80 by 24: theirs for the program, ours for the simulated
// person.
func openTerminal(t *testing.T) (theirs, ours *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { ours.Close() })
	raw, err := ours.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	if err := raw.Control(func(fd uintptr) {
		if err := unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err != nil {
			t.Error(err)
		}
		if number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN); err != nil {
			t.Error(err)
		}
		if err := unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return theirs, ours
}

// runAtTerminal runs messkit at a terminal, with the exchange at url. Whenever the output contains a
// key of answers, it types the value; Ctrl-C once, as a second one ends the program at once. It returns
// everything that the terminal received.
func runAtTerminal(t *testing.T, home, url string, answers map[string]string, args ...string) (string, error) {
	t.Helper()
	theirs, ours := openTerminal(t)
	c := exec.CommandContext(t.Context(), "messkit", args...)
	c.Dir = home
	c.Env = append(os.Environ(), "HOME="+home, "MESSKIT_URL="+url, "TERM=xterm-256color", "TMUX=", "STY=", "TERM_PROGRAM=", "KITTY_WINDOW_ID=", "LC_TERMINAL=")
	c.Stdin, c.Stdout, c.Stderr = theirs, theirs, theirs
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	var g errgroup.Group
	var seen strings.Builder
	g.Go(func() error {
		defer time.AfterFunc(patience, func() { _ = c.Process.Kill() }).Stop()
		from, part, interrupted := 0, make([]byte, 4096), false
		for {
			n, err := ours.Read(part)
			seen.Write(part[:n])
			for wait := true; wait; {
				wait = false
				for asks, answer := range answers {
					if i := strings.Index(seen.String()[from:], asks); i >= 0 {
						from += i + len(asks)
						if answer == ctrlC {
							if !interrupted {
								_ = c.Process.Signal(os.Interrupt)
							}
							interrupted = true
						} else if _, err := ours.WriteString(answer); err != nil {
							return nil
						}
						wait = true
					}
				}
			}
			if err != nil { // EIO: no process has it open
				return nil
			}
		}
	})
	err := c.Wait()
	if ended := g.Wait(); ended != nil {
		t.Error(ended)
	}
	return seen.String(), err
}

// ctrlC stands for SIGINT: the kernel discards pending output when it converts the key itself.
const ctrlC = "\x03"

// primaryAttributes is the last query to a terminal, and showsSixels the answer of one that shows
// sixels.
const (
	primaryAttributes = "\x1b[c"
	showsSixels       = "\x1b[6;16;8t\x1b[?62;4;22c"
)

func startAtTerminal(t *testing.T) (home, url string) {
	t.Helper()
	home = t.TempDir()
	p, err := start(home, "messkit", "run", "--listen", "127.0.0.1:0", "--mqtt", "off")
	if err != nil || p.url == "" {
		t.Fatalf("%v\n%s", err, &p.stderr)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	return home, strings.TrimSuffix(p.url, "/api/v1/exchanges/home")
}

// At a terminal, ask prompts for an answer to the executor's question, draws progress in place,
// and shows an image if the terminal can.
func TestAskAtTerminal(t *testing.T) {
	home, url := startAtTerminal(t)
	out, err := runAtTerminal(t, home, url, map[string]string{"do it? [y/N] ": "y\n", primaryAttributes: showsSixels},
		"ask", "take a photo of the porch", "--confirm", "--wait")
	if err != nil {
		t.Errorf("%v\n%q", err, out)
	}
	for _, want := range []string{"needs confirmation", "operator  confirms", "\x1bP0;1;0q\"1;1;", "saved ", "\x1b[?7l  ", "\x1b[J"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%.3000q", want, out)
		}
	}
	pictures, err := filepath.Glob(filepath.Join(home, "*.jpg"))
	if err != nil || len(pictures) != 1 {
		t.Errorf("%q, %v", pictures, err)
	}
	// The next request needs an answer, the one after that gets Ctrl-C, and the last one gets no
	// answer.
	out, err = runAtTerminal(t, home, url, map[string]string{"device? ": "\nporch light\n"}, "ask", "turn on the light", "--wait")
	if err != nil || !strings.Contains(out, "porch light is on") || !strings.Contains(out, "write an answer") || strings.Count(out, "device: ") != 1 { // an empty line is no answer
		t.Errorf("%v\n%q", err, out)
	}
	out, err = runAtTerminal(t, home, url, map[string]string{"do it? [y/N] ": ctrlC}, "ask", "turn off the porch light", "--confirm", "--wait")
	if err == nil || !strings.Contains(out, "it continues without you") {
		t.Errorf("%v\n%q", err, out)
	}
	out, err = runAtTerminal(t, home, url, map[string]string{"do it? [y/N] ": "\x04"}, "ask", "turn off the hall light", "--confirm", "--wait", "--needed-by", "3s")
	if err == nil || !strings.Contains(out, "this waits for their answer") || !strings.Contains(out, "answer with: messkit reply") || !strings.Contains(out, "expired") {
		t.Errorf("%v\n%q", err, out)
	}
}

// A terminal that no process reads blocks all output. The program still ends after repeated
// signals.
func TestAskEndsAtBlockedTerminal(t *testing.T) {
	home, url := startAtTerminal(t)
	theirs, ours := openTerminal(t)
	c := exec.CommandContext(t.Context(), "messkit", "ask", "turn on the porch light", "--not-before", "1h", "--wait")
	c.Env = append(os.Environ(), "HOME="+home, "MESSKIT_URL="+url, "TERM=xterm-256color")
	c.Stdin, c.Stdout, c.Stderr = theirs, theirs, theirs
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	part := make([]byte, 4096)
	for seen := ""; !strings.Contains(seen, "pending"); {
		n, err := ours.Read(part)
		if err != nil {
			t.Fatalf("%v: %q", err, seen)
		}
		seen += string(part[:n])
	}
	if _, err := ours.WriteString("\x13"); err != nil { // Ctrl-S pauses the output
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	end, again := time.After(patience), time.NewTicker(200*time.Millisecond)
	defer again.Stop()
	for {
		_ = c.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err == nil {
				t.Error("the command succeeds, want an error")
			}
			return
		case <-end:
			_ = c.Process.Kill()
			t.Fatalf("the command does not end: %v", <-ended)
		case <-again.C:
		}
	}
}

// The terminal shows each line of the example in the README, with other names, numbers and
// progress.
func TestReadmeExampleMatchesTerminal(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(text), "```console\n$ messkit ask \"vacuum the kitchen\" --wait\n")
	shown, _, _ = strings.Cut(shown, "```")
	home, url := startAtTerminal(t)
	out, err := runAtTerminal(t, home, url, map[string]string{"area? ": "both\n", "do it? [y/N] ": "y\n", primaryAttributes: "\x1b[?62;22c"}, "ask", "vacuum the kitchen", "--wait")
	if err != nil {
		t.Fatalf("%v\n%q", err, out)
	}
	words := regexp.MustCompile(`[█░\d]+`)
	out = words.ReplaceAllString(sequence.ReplaceAllString(out, ""), "#")
	n := 0
	for line := range strings.Lines(shown) {
		n++
		line, _, _ = strings.Cut(strings.TrimSpace(line), "kitchen-pi")
		for part := range strings.SplitSeq(words.ReplaceAllString(line, "#"), "#:#  ") { // the elapsed time
			if !strings.Contains(out, strings.TrimSpace(part)) {
				t.Errorf("%q is not in\n%s", part, out)
			}
		}
	}
	if n < 10 {
		t.Errorf("%d lines", n)
	}
}

// sequence matches an escape sequence of terminals.
var sequence = regexp.MustCompile("\x1b\\[[?0-9;]*[a-zA-Z]")

// Without --wait, ask prints the command that shows the result, and the reason why the task
// waits. In a pipe its standard output contains only the ref.
func TestAskWithoutWait(t *testing.T) {
	home, url := startAtTerminal(t)
	if out, err := runAtTerminal(t, home, url, nil, "ask", "turn on the porch light"); err != nil || !strings.Contains(out, "messkit show 20") {
		t.Errorf("at a terminal: %v: %q", err, out)
	}
	c := exec.CommandContext(t.Context(), "messkit", "ask", "swim", "--requires", "swim")
	c.Env = append(os.Environ(), "HOME="+home, "MESSKIT_URL="+url)
	var errs strings.Builder
	c.Stderr = &errs
	if out, err := c.Output(); err != nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(errs.String(), "it waits: no executor has") || strings.Contains(errs.String(), "messkit show") {
		t.Errorf("in a pipe: %v: %q and %q", err, out, errs.String())
	}
}

// On a terminal without images, ask prints the path only. In a pipe it prints no escape sequence.
func TestAskPrintsPathWithoutImageSupport(t *testing.T) {
	home, url := startAtTerminal(t)
	out, err := runAtTerminal(t, home, url, map[string]string{primaryAttributes: "\x1b[?62;22c"}, "ask", "take a photo of the porch", "--wait")
	if err != nil || strings.Contains(out, "\x1bP") || !strings.Contains(out, "saved ") {
		t.Errorf("%v\n%q", err, out)
	}
	c := exec.Command("messkit", "ask", "take a photo of the porch", "--wait")
	c.Env, c.Dir = append(os.Environ(), "HOME="+home, "MESSKIT_URL="+url, "MESSKIT_IMAGES=kitty"), home
	plain, err := c.CombinedOutput()
	if err != nil || strings.Contains(string(plain), "\x1b") || !strings.Contains(string(plain), "completed") {
		t.Errorf("%v\n%q", err, plain)
	}
}

// The dashboard shows the events, and restores the terminal at its end.
func TestWatchAtTerminal(t *testing.T) {
	home, url := startAtTerminal(t)
	c := exec.Command("messkit", "ask", "turn on the porch light", "--wait")
	c.Env, c.Dir = append(os.Environ(), "HOME="+home, "MESSKIT_URL="+url), home
	if err := c.Start(); err != nil { // the dashboard shows it during or after the execution
		t.Fatal(err)
	}
	out, err := runAtTerminal(t, home, url, map[string]string{"  completed  ": ctrlC}, "watch")
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(out, "\x1b[?1049h\x1b[?25l") || !strings.HasSuffix(out, "\x1b[?25h\x1b[?1049l") {
		t.Errorf("%q", out)
	}
	for _, want := range []string{"1 executor", "  here", "turn on the porch light", "Ctrl-C leaves"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in %q", want, out)
		}
	}
}

// init asks three questions.
func TestInitAsksThreeQuestions(t *testing.T) {
	home := t.TempDir()
	out, err := runAtTerminal(t, home, "http://127.0.0.1:9", map[string]string{
		"board called? ": "kitchen-pi\n", "or here? ": "\n", "y or n ": "y\n",
	}, "init", "--for", "50ms")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(home, "messkit.yaml"))
	if err != nil || !strings.Contains(string(text), "\n  id: kitchen-pi\n") || !strings.Contains(string(text), "\n  tls: self\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

// ask withdraws a question that another client answers, and continues to wait.
func TestAskWithdrawsAnsweredQuestion(t *testing.T) {
	home, url := startAtTerminal(t)
	command := func(args ...string) (string, error) {
		c := exec.CommandContext(t.Context(), "messkit", args...)
		c.Env = append(os.Environ(), "HOME="+home, "MESSKIT_URL="+url)
		got, err := c.Output()
		return string(got), err
	}
	var g errgroup.Group
	g.Go(func() error {
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			list, err := command("ls", "--status", "needs_confirmation")
			if fields := strings.Fields(list); err == nil && len(fields) > 5 {
				_, err = command("reply", fields[5], "--yes") // the first field of the row below the header
				return err
			}
		}
		return errors.New("nothing was asked")
	})
	out, err := runAtTerminal(t, home, url, nil, "ask", "turn on the porch light", "--confirm", "--wait")
	if err := errors.Join(err, g.Wait()); err != nil || !strings.Contains(out, "operator  confirms") || !strings.Contains(out, "The porch light is on") {
		t.Errorf("%v\n%q", err, out)
	}
}
