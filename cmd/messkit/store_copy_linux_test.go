package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/store/transfer"
	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// copyStore runs messkit store copy, and kills it several times before that.
func copyStore(t *testing.T, dir, from, to string, kills int, more ...string) (r transfer.Report) {
	t.Helper()
	command := func() *exec.Cmd {
		c := exec.Command(buildMesskit(t), append([]string{"store", "copy", from, to, "--replicas", "1", "--json"}, more...)...)
		c.Dir, c.Env = dir, append(os.Environ(), "HOME="+dir)
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return c
	}
	for range kills {
		c := command()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case <-ended: // it was faster
		case <-time.After(time.Duration(20+rand.IntN(400)) * time.Millisecond):
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended
		}
	}
	c := command()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%s to %s: %v: %s", from, to, err, &errs)
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	return r
}

// homeOf starts an exchange over a data folder, and returns it with its operator's client.
func homeOf(t *testing.T, dir string) (*process, *httpclient.Client) {
	t.Helper()
	p, err := start(dir, buildMesskit(t), "exchange", "--config", "/dev/stdin", "--listen", "127.0.0.1:0", "--mqtt", "off", "--data", dir)
	if err != nil || p.url == "" {
		t.Fatalf("%v: %s", err, p.stderr.String())
	}
	t.Cleanup(func() { _ = p.kill() }) // the test may have ended it
	key, err := operatorKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p, clientFor(t, strings.TrimSuffix(p.url, "/api/v1/exchanges/home"), httpclient.Secret(key))
}

// holders returns the actors with keys, and their roles.
func holders(ctx context.Context, t *testing.T, c *httpclient.Client) (all []string) {
	t.Helper()
	list, err := c.Keys(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		all = append(all, fmt.Sprint(one.Actor, " ", one.Roles))
	}
	slices.Sort(all)
	return all
}

// A home goes from a folder to NATS servers and into another folder, with kills on both ways. Its threads,
// executors, keys, receipt keys and keys for push services are the same at the end, and the keys work.
func TestKilledStoreCopyKeepsHome(t *testing.T) {
	if testing.Short() {
		t.Skip("starts an exchange twice, a NATS server and many copies")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	first, last := t.TempDir(), t.TempDir()
	p, operator := homeOf(t, first)
	keys := map[string]httpclient.Secret{}
	for actor, role := range map[string]string{"robot": "executor", "reader": "observer", "ana": "requester"} {
		key, err := operator.IssueKey(ctx, actor, []string{role})
		if err != nil {
			t.Fatal(err)
		}
		keys[actor] = key
	}
	robot := clientFor(t, strings.TrimSuffix(p.url, "/api/v1/exchanges/home"), keys["robot"])
	registration := &mess.Executor{ID: "robot", Name: "Robot", Capabilities: []mess.Capability{{ID: "garden.water"}}}
	registration.Extra = registration.Extra.Set(receipt.KeyField, "xc3tBbVKfzdPiwGkF3CFsw/Pgkb0G52LEjmIQyphbFA=")
	if _, err := robot.Send(ctx, mess.Message{Items: []mess.Item{&mess.Config{Executor: registration}}}); err != nil {
		t.Fatal(err)
	}
	var refs []string
	for i := range 60 {
		refs = append(refs, sendRequest(ctx, t, operator, mess.Request{ID: fmt.Sprint("r", i), Intent: "water the plants", Requires: []mess.Capability{{ID: "garden.water"}}}))
	}
	if _, err := robot.Send(ctx, mess.Message{Re: mess.Refs{refs[0]}, Items: []mess.Item{&mess.Status{Code: mess.Claimed}}}); err != nil {
		t.Fatal(err)
	}
	want := holders(ctx, t, operator)
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	there := copyStore(t, first, first, server.URL(), 6, "--monitor", server.Monitor())
	back := copyStore(t, last, server.URL(), last, 6, "--monitor", server.Monitor())
	if there.Source != there.Target || back.Source != there.Source || back.Target != there.Source || back.Threads != len(refs) || back.Documents != there.Documents {
		t.Errorf("there %+v, and back %+v", there, back)
	}
	for _, name := range []string{"push.json", "receipt-keys.json", "keys.json"} {
		compareJSON(t, filepath.Join(first, name), filepath.Join(last, name))
	}
	if err := os.Rename(filepath.Join(first, "operator.key"), filepath.Join(last, "operator.key")); err != nil {
		t.Fatal(err)
	}
	p, operator = homeOf(t, last)
	if got := holders(ctx, t, operator); !slices.Equal(got, want) {
		t.Errorf("the actors with keys are %q, want %q", got, want)
	}
	url := strings.TrimSuffix(p.url, "/api/v1/exchanges/home")
	if list, err := clientFor(t, url, keys["reader"]).Executors(ctx); err != nil || len(list) != 1 || list[0].ID != "robot" || list[0].Name != "Robot" {
		t.Errorf("the executors for the reader: %+v, %v", list, err)
	}
	if got := sendRequest(ctx, t, operator, mess.Request{ID: "r7", Intent: "water the plants", Requires: []mess.Capability{{ID: "garden.water"}}}); got != refs[7] {
		t.Errorf("the id r7 is that of %s, want %s", got, refs[7])
	}
	if _, err := clientFor(t, url, keys["robot"]).Send(ctx, mess.Message{Re: mess.Refs{refs[0]}, Items: []mess.Item{&mess.Status{Code: mess.InProgress}}}); err != nil {
		t.Errorf("the executor goes on with its claim: %v", err)
	}
}

// compareJSON compares the values in two JSON files.
func compareJSON(t *testing.T, a, b string) {
	t.Helper()
	var texts [2]string
	for i, name := range []string{a, b} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			return
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text, _ := json.Marshal(v) // it was JSON
		texts[i] = string(text)
	}
	if texts[0] == "{}" || texts[0] != texts[1] {
		t.Errorf("%s and %s differ, or are empty", a, b)
	}
}
