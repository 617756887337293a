package files_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// linearDir is the environment variable with the folder of TestWritersForLinear.
const linearDir = "MESSKIT_TEST_LINEAR"

const (
	linearWriters = 64
	linearThreads = 16
	linearKills   = 4
)

// call is a call of a writer: it claims a thread after a revision, or reads its revision. The
// writer prints a line before the call and another one after it.
type call struct {
	Writer int
	At     int64 `json:"-"` // the number of its line: the lines of all writers have one order
	Ref    string
	After  thread.Rev // "": it reads
	Back   bool       // the call has returned
	Rev    thread.Rev // that was read
	OK     bool       // the store has the claim
}

// TestWritersForLinear is the process that TestClaimsAreLinearizable kills; it is not a test.
func TestWritersForLinear(t *testing.T) {
	dir := os.Getenv(linearDir)
	if dir == "" {
		t.Skip("is run by TestClaimsAreLinearizable")
	}
	s := open(t, dir)
	for i := range linearThreads {
		ref := fmt.Sprintf("2026-02-01-%03d", i+1)
		if _, err := s.Append(t.Context(), storetest.Step(ref, "agent", "", storetest.Start)); err != nil && !errors.Is(err, thread.ErrStale) {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	record := func(c call) {
		mu.Lock()
		defer mu.Unlock()
		_ = out.Encode(c) // the reader may be gone
	}
	var g sync.WaitGroup
	for w := range linearWriters {
		g.Go(func() {
			for {
				c := call{Writer: w, Ref: fmt.Sprintf("2026-02-01-%03d", 1+rand.IntN(linearThreads))}
				record(c)
				th, rev, err := s.Read(t.Context(), c.Ref)
				if err != nil {
					t.Error(err)
					return
				}
				c.Back, c.Rev = true, rev
				record(c)
				c = call{Writer: w, Ref: c.Ref, After: rev}
				record(c)
				th.Ver++
				th.Status, th.Executor = mess.Claimed, fmt.Sprint("pi-", w)
				_, err = s.Append(t.Context(), thread.Step{After: rev, Envelope: th.Envelope})
				if err != nil && !errors.Is(err, thread.ErrStale) {
					t.Error(err)
					return
				}
				c.Back, c.OK = true, err == nil
				record(c)
			}
		})
	}
	g.Wait()
}

// Claims of 64 writers are linear, even if the test kills the process. The store has each
// acknowledged claim, and no rejected one. A claim without a result counts once or not at all.
// The search is exponential in the number of concurrent calls; three facts limit it. A claim
// without a result counts before its process has died. It does not count if the store
// acknowledged another claim of the same revision. A rejected claim can be put at its end: the
// revision that rejects it never comes back.
func TestClaimsAreLinearizable(t *testing.T) {
	dir := t.TempDir()
	history, unanswered := map[string][]porcupine.Operation{}, []porcupine.Operation{}
	acknowledged := map[string]bool{} // ref and revision of each acknowledged claim
	calls, line := 0, int64(0)
	for kill := range linearKills {
		begun := map[int]call{}
		for _, c := range killedAfter(t, dir, 500*time.Millisecond) {
			line++
			c.At = line
			if !c.Back {
				begun[c.Writer] = c
				continue
			}
			b := begun[c.Writer]
			delete(begun, c.Writer)
			from := b.At
			if c.After != "" && !c.OK {
				from = c.At
			}
			history[c.Ref] = append(history[c.Ref], porcupine.Operation{ClientId: kill*linearWriters + c.Writer, Input: b, Call: from, Output: c, Return: c.At})
			calls++
			if c.OK {
				acknowledged[c.Ref+" "+string(c.After)] = true
			}
		}
		line++                    // the process is dead
		for _, b := range begun { // the result is unknown
			if b.After != "" {
				unanswered = append(unanswered, porcupine.Operation{ClientId: kill*linearWriters + b.Writer, Input: b, Call: b.At, Output: b, Return: line})
			}
		}
	}
	for _, o := range unanswered {
		if b := o.Input.(call); !acknowledged[b.Ref+" "+string(b.After)] {
			history[b.Ref] = append(history[b.Ref], o)
		}
	}
	t.Logf("%d calls that have returned", calls)
	if calls < 1000 {
		t.Fatal("too few calls for a result")
	}
	model := (&porcupine.NondeterministicModel{
		Init: func() []any { return []any{thread.Rev("1")} },
		Step: func(state, input, output any) []any {
			rev, in, out := state.(thread.Rev), input.(call), output.(call)
			is, next := in.After == rev, thread.Rev(fmt.Sprint(number(in.After)+1))
			switch {
			case in.After == "" && out.Rev == rev, in.After != "" && out.Back && !out.OK && !is:
				return []any{rev}
			case in.After != "" && out.OK && is:
				return []any{next}
			case in.After != "" && !out.Back && is:
				return []any{rev, next}
			case in.After != "" && !out.Back:
				return []any{rev}
			}
			return nil
		},
	}).ToModel()
	for ref, one := range history {
		if result := porcupine.CheckOperationsTimeout(model, one, time.Minute); result != porcupine.Ok {
			t.Errorf("%s: the history of %d calls is %s", ref, len(one), result)
		}
	}
}

func number(rev thread.Rev) (n int) {
	_, _ = fmt.Sscan(string(rev), &n)
	return n
}

// killedAfter runs the writers, kills them after a time, and returns their printed calls.
func killedAfter(t *testing.T, dir string, d time.Duration) (calls []call) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestWritersForLinear$")
	cmd.Env = append(slices.Clone(os.Environ()), linearDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var kill *time.Timer
	for lines.Scan() {
		if kill == nil { // it works now
			kill = time.AfterFunc(d, func() { _ = cmd.Process.Kill() })
		}
		var c call
		if json.Unmarshal(lines.Bytes(), &c) == nil { // the last line may be incomplete
			calls = append(calls, c)
		}
	}
	_ = cmd.Wait() // it was killed
	return calls
}
