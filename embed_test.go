package messkit_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/cli"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon"
)

// TestEmbed builds the program of docs/how-to/embed.md in a module outside the tree, sends it a
// request over an exchange, and reads the commands to its device. It has two versions: without a
// watchdog, and with one, which switches the device off after the death of the program.
func TestEmbed(t *testing.T) {
	page, err := os.ReadFile("docs/how-to/embed.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 2 {
		t.Fatalf("docs/how-to/embed.md has %d Go blocks; want the program and its watchdog", len(blocks))
	}
	program, guarded := blocks[0][1], blocks[1][1]
	if n := strings.Count(program, "\n"); n > 30 {
		t.Errorf("the program has %d lines; want at most 30", n)
	}
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := t.TempDir()
	plain := build(t, dir, "plain", program)
	withDog := build(t, dir, "guarded", strings.Replace(program, "{Class:", "{Kind: drivers.Kind{RunWatchdogCommand: switchOff}, Class:", 1)+"\n"+guarded)
	url, key := serve(t, filepath.Join(dir, "exchange"))
	t.Run("device acts once and ends safe", func(t *testing.T) {
		p := start(t, plain, url)
		ask(t, url, key, "turn on the led")
		p.await("01")
		if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("the program ends with %v", err)
		}
		p.await("010")
	})
	t.Run("watchdog switches off after a kill", func(t *testing.T) {
		p := start(t, withDog, url)
		ask(t, url, key, "turn on the led")
		p.await("01")
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.cmd.Wait() // killed above
		p.await("010")
	})
}

// build builds a program in its own module, offline.
func build(t *testing.T, dir, name, text string) string {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	requires := strings.Replace(string(mod), "module github.com/messkit/messkit\n", "module desk\n", 1)
	requires += "\nrequire github.com/messkit/messkit v0.0.0\n\nreplace github.com/messkit/messkit => " + root + "\n"
	for file, text := range map[string]string{"go.mod": requires, "go.sum": string(sum), "main.go": text} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", "desk", ".")
	c.Dir, c.Env = dir, append(os.Environ(), "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return filepath.Join(dir, "desk")
}

// serve runs an exchange and returns its URL and the file of the operator's key.
func serve(t *testing.T, dir string) (url, key string) {
	t.Helper()
	file := dir + ".yaml"
	if err := os.WriteFile(file, []byte("exchange: {listen: '127.0.0.1:0', data: "+dir+", mqtt: {listen: 'off'}}\nagent: {data: "+dir+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := daemon.LoadConfig(file, output.NoLog)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	e, err := daemon.OpenExchange(t.Context(), output.NewEnv(nil, &said, io.Discard), cfg.Exchange, nil, output.NoLog)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	_, url, _ = strings.Cut(strings.TrimSpace(said.String()), " at ")
	return url, filepath.Join(dir, "operator.key")
}

// ask sends a request and waits for its end.
func ask(t *testing.T, url, key, text string) {
	t.Helper()
	var out bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- cli.Main([]string{"ask", "--url", url, "--key-file", key, "--wait", text}, strings.NewReader(""), &out, &out)
	}()
	select {
	case c := <-code:
		if c != cli.ExitDone {
			t.Fatalf("messkit ask %q ends with %d:\n%s", text, c, out.String())
		}
	case <-time.After(3 * time.Minute):
		t.Fatalf("messkit ask %q does not end", text)
	}
}

// running is a program whose device is a pipe that the test reads.
type running struct {
	t   *testing.T
	cmd *exec.Cmd
	led *os.File
	got string
}

// start runs a program and waits for its device to start.
func start(t *testing.T, program, url string) *running {
	t.Helper()
	dir := filepath.Dir(filepath.Dir(program)) // of both programs, with the key of the executor
	pipe := filepath.Join(t.TempDir(), "led")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	led, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &running{t: t, led: led, cmd: exec.CommandContext(t.Context(), program)}
	p.cmd.Dir, p.cmd.Env = dir, append(os.Environ(), "LED="+pipe, "EXCHANGE="+url)
	var log bytes.Buffer
	p.cmd.Stdout, p.cmd.Stderr = &log, &log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = led.Close()
		if t.Failed() {
			t.Logf("the program logs\n%s", log.String())
		}
	})
	p.await("0")
	return p
}

// await reads the pipe until the device has received all of want, and nothing else.
func (p *running) await(want string) {
	p.t.Helper()
	if err := p.led.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		p.t.Fatal(err)
	}
	for buf := make([]byte, 16); p.got != want; {
		n, err := p.led.Read(buf)
		p.got += string(buf[:n])
		if err != nil || !strings.HasPrefix(want, p.got) {
			p.t.Fatalf("the device received %q (%v); want %q", p.got, err, want)
		}
	}
}
