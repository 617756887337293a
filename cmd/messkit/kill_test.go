package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// killRun is an exchange in a separate process, with its acknowledgements. It uses only HTTP and
// shares no code with the store.
type killRun struct {
	*testing.T
	dir  string
	url  string
	key  string
	proc *exec.Cmd

	mu    sync.Mutex
	acked map[string]string // id to ref
	steps map[string]int    // ref to acknowledged replies
}

func (k *killRun) start() {
	k.Helper()
	k.proc = exec.Command(os.Args[0], "exchange", "--listen", "127.0.0.1:0", "--data", k.dir)
	k.proc.Args[0] = "messkit" // this name makes the test binary run as messkit
	out, err := k.proc.StdoutPipe()
	if err != nil {
		k.Fatal(err)
	}
	if err := k.proc.Start(); err != nil {
		k.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		k.Fatal(err)
	}
	k.url = strings.TrimSpace(line[strings.Index(line, "http://"):]) + "/api/v1/exchanges/home"
	key, err := os.ReadFile(filepath.Join(k.dir, "operator.key"))
	if err != nil {
		k.Fatal(err)
	}
	k.key = strings.TrimSpace(string(key))
}

func (k *killRun) call(method, path, body string) (int, map[string]any) {
	req, err := http.NewRequest(method, k.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	req.Header.Set("Authorization", "Bearer "+k.key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	var v map[string]any
	data, err := io.ReadAll(res.Body)
	if err != nil || json.Unmarshal(data, &v) != nil {
		return 0, nil
	}
	return res.StatusCode, v
}

// load sends requests, and cancels every third, until the exchange is gone.
func (k *killRun) load(round, worker int) {
	for i := 0; ; i++ {
		id := fmt.Sprintf("r%d-w%d-%d", round, worker, i)
		code, v := k.call("POST", "/requests", fmt.Sprintf(`{"id":%q,"intent":"look (%s)"}`, id, id))
		if code != http.StatusCreated {
			return
		}
		ref := fmt.Sprint(v["ref"])
		k.locked(func() { k.acked[id] = ref })
		if i%3 == 0 {
			if code, _ := k.call("PATCH", "/requests/"+ref, `{"status":"cancelled"}`); code == http.StatusOK {
				k.locked(func() { k.steps[ref]++ })
			}
		}
	}
}

func (k *killRun) locked(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

// checkAcks compares the exchange with all its acknowledgements.
func (k *killRun) checkAcks() {
	k.Helper()
	given := map[string]string{}
	for id, ref := range k.acked {
		if other, twice := given[ref]; twice {
			k.Errorf("%s was given to %s and to %s", ref, other, id)
		}
		given[ref] = id
		code, v := k.call("GET", "/requests/"+ref, "")
		if code != http.StatusOK {
			k.Errorf("%s (%s) was acknowledged and is gone: %d %v", ref, id, code, v)
			continue
		}
		thread, _ := v["thread"].(map[string]any)
		if want := k.steps[ref] > 0; want && thread["status"] != "cancelled" {
			k.Errorf("%s was cancelled, that was acknowledged, and it is %v", ref, thread["status"])
		}
		if code, v := k.call("POST", "/requests", fmt.Sprintf(`{"id":%q,"intent":"look (%s)"}`, id, id)); code != http.StatusCreated || v["ref"] != ref {
			k.Errorf("the same request again: %d %v, not %s", code, v, ref)
		}
	}
}

// A process that dies at any moment keeps all acknowledged data, and never assigns a ref twice.
func TestKillUnderLoadLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for some seconds")
	}
	k := &killRun{T: t, dir: t.TempDir(), acked: map[string]string{}, steps: map[string]int{}}
	rounds, workers := 6, 8
	if n, err := strconv.Atoi(os.Getenv("MESSKIT_KILLS")); err == nil {
		rounds = n
	}
	for round := range rounds {
		k.start()
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() { k.load(round, w) })
		}
		timer := time.NewTimer(time.Duration(20+rand.IntN(250)) * time.Millisecond)
		<-timer.C
		if err := k.proc.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = k.proc.Wait() // its error reports the kill
		wg.Wait()
	}
	k.start()
	k.checkAcks()
	t.Logf("%d requests and %d cancels acknowledged in %d rounds", len(k.acked), len(k.steps), rounds)
	k.checkFolders()
	if err := k.proc.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := k.proc.Wait(); err != nil {
		t.Errorf("at its end: %v", err)
	}
}

// checkFolders compares the folders with the acknowledgements.
func (k *killRun) checkFolders() {
	k.Helper()
	var acked []ackedThread
	for id, ref := range k.acked {
		one := ackedThread{ref: ref, words: []string{"(" + id + ")"}}
		if k.steps[ref] > 0 {
			one.status = "cancelled"
		}
		acked = append(acked, one)
	}
	for _, problem := range waitForFolders(k.dir, acked, patience) {
		k.Error(problem)
	}
}
