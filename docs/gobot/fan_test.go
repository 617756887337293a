package gobot_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/docs/gobot"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/internal/strictyaml"
)

func pin(file string) string {
	data, _ := os.ReadFile(file) // one that is not there yet is off
	return strings.TrimSpace(string(data))
}

func TestKeepsTheRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "board")
	acts, looked := 0, time.Unix(1, 0) // as old as the file is once its writing was seen
	drivertest.Run(t, func(t *testing.T) drivers.Device {
		env := drivers.Env{Name: "it", Log: slog.New(slog.DiscardHandler), Now: time.Now, Shared: &drivers.Shared{}}
		d, err := gobot.Kind().Open(env, func(out any) error { return strictyaml.Decode("c.yaml", []byte("file: "+file), out) })
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

// The page docs/how-to/own-driver.md is followed: the file is put in its place, messkit
// is built, and a request in plain words switches the fan.
func TestOwnBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("builds messkit")
	}
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, "drivers/all/own.go"): filepath.Join(root, "docs/gobot/own.go.txt"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	bin, board := filepath.Join(dir, "messkit"), filepath.Join(dir, "board")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", write("overlay.json", string(overlay)), "-o", bin, "./cmd/messkit")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	config := write("home.yaml", "exchange: {listen: '127.0.0.1:0', data: "+dir+"/data}\nagent: {data: "+dir+"/data}\ndevices: {fan: {driver: my-fan, file: "+board+"}}\n")
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
	if said, err := ask.CombinedOutput(); err != nil || pin(board) != "pin 1 is 1" {
		t.Errorf("%v, %s\n%s", err, pin(board), said)
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
