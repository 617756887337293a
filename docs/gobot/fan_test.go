package gobot_test

import (
	"bufio"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/docs/gobot"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
)

func pin(file string) string {
	data, _ := os.ReadFile(file) // one that is not there yet is off
	return strings.TrimSpace(string(data))
}

func TestDriverPassesSuite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "board")
	acts, looked := 0, time.Unix(1, 0) // as old as the file is once its writing was seen
	drivertest.Run(t, func(t *testing.T) drivers.Device {
		env := drivers.Env{Name: "it", Log: slog.New(slog.DiscardHandler), Now: time.Now, Shared: &drivers.Shared{}}
		d, err := gobot.Kind().Open(env, func(out any) error { return drivers.Decode("c.yaml", []byte("file: "+file), out) })
		if err != nil {
			t.Fatal(err)
		}
		return d
	},
		drivertest.Safe(func() error {
			if is := pin(file); is == "pin 1 is 1" {
				return errors.New(is)
			}
			return nil
		}),
		drivertest.Level(func() bool { return pin(file) == "pin 1 is 1" }),
		drivertest.Acts(func() int {
			if info, err := os.Stat(file); err == nil && !info.ModTime().Equal(looked) {
				acts++
				if err := os.Chtimes(file, looked, looked); err != nil { // two writings may have the same time
					t.Error(err)
				}
			}
			return acts
		}),
	)
}

// TestOwnBuild follows docs/how-to/own-driver.md: a module outside the tree has the program of
// the page and the driver of fan.go, and a request in plain words switches the fan.
func TestOwnBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("builds messkit")
	}
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?ms)^```go\n(package main.*?)^```$").FindStringSubmatch(read(t, filepath.Join(root, "docs/how-to/own-driver.md")))
	if program == nil {
		t.Fatal("docs/how-to/own-driver.md has no program")
	}
	if err := os.Mkdir(filepath.Join(dir, "driver"), 0o700); err != nil {
		t.Fatal(err)
	}
	mod := strings.Replace(read(t, filepath.Join(root, "go.mod")), "module github.com/messkit/messkit\n", "module fan\n", 1)
	write(t, dir, "go.mod", mod+"\nrequire github.com/messkit/messkit v0.0.0\n\nreplace github.com/messkit/messkit => "+root+"\n")
	write(t, dir, "go.sum", read(t, filepath.Join(root, "go.sum")))
	write(t, dir, "main.go", program[1])
	write(t, dir, "driver/fan.go", strings.Replace(read(t, "fan.go"), "package gobot\n", "package driver\n", 1))
	bin, board := filepath.Join(dir, "messkit"), filepath.Join(dir, "board")
	t.Setenv("GOPROXY", "off")
	command(t, dir, "go", "build", "-mod=mod", "-o", bin, ".")
	config := write(t, dir, "home.yaml", "exchange: {listen: '127.0.0.1:0', data: "+dir+"/data}\nagent: {data: "+dir+"/data}\ndevices: {fan: {driver: my-fan, file: "+board+"}}\n")
	run := exec.CommandContext(t.Context(), bin, "run", "--config", config)
	out, err := run.StdoutPipe()
	if err == nil {
		run.Stderr = run.Stdout
		err = run.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	url := ""
	lines := bufio.NewScanner(out)
	for url == "" && lines.Scan() {
		_, url, _ = strings.Cut(lines.Text(), " at ")
	}
	ask := exec.CommandContext(t.Context(), bin, "ask", "--url", url, "--key-file", dir+"/data/operator.key", "--wait", "turn on the fan")
	if output, err := ask.CombinedOutput(); err != nil || pin(board) != "pin 1 is 1" {
		t.Errorf("%v, %s\n%s", err, pin(board), output)
	}
	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // until it has ended
	}
	if err := run.Wait(); err != nil || pin(board) != "pin 1 is 0" {
		t.Errorf("at the end: %v, %s", err, pin(board))
	}
}
