package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fault is a kind of system call whose nth call fails. strace counts per thread, so several calls
// may fail in one run.
type fault struct {
	call  string
	errno string // "": the call does nothing and returns success
	nth   int
	path  string // files in the data folder for which it fails, * for a segment's number; "" for all
}

// never is a count that no thread reaches: strace counts up to here.
const never = 65535

// strace returns the command that injects the fault. Its log contains all these calls.
func (f fault) strace(dir, log string) []string {
	how := "error=" + f.errno
	if f.errno == "" {
		how = "retval=0"
	}
	args := []string{
		"strace", "-D", "-f", "-y", "--seccomp-bpf", "-o", log, "-e", "signal=none", "-e", "trace=" + f.call,
		"-e", fmt.Sprintf("inject=%s:%s:when=%d", f.call, how, f.nth),
	}
	for n := range 2 {
		if f.path != "" {
			args = append(args, "-P", dir+strings.ReplaceAll(f.path, "*", fmt.Sprintf("%016x", n+1)))
		}
	}
	return args
}

// faultRun is an exchange with failing system calls, on a new or a used data folder.
type faultRun struct {
	*testing.T
	fault
	binary string
	dir    string // data folder
	log    string // log of strace
	ledger *scenarioLog

	problems []string
	unless   []error // problems that do not count if the call of a socket failed
}

func newFaultRun(t *testing.T, binary string, what fault) *faultRun {
	dir := t.TempDir()
	return &faultRun{T: t, fault: what, binary: binary, dir: filepath.Join(dir, "data"), log: filepath.Join(dir, "log"), ledger: &scenarioLog{}}
}

func (f *faultRun) addProblem(format string, args ...any) {
	f.problems = append(f.problems, fmt.Sprintf(format, args...))
}

// imageCount fill a second segment of the log.
const imageCount = 6

// runScenarios runs a fixed scenario: every script, and some images.
func (f *faultRun) runScenarios(name string, pictures int) {
	f.Helper()
	for n := range scripts + pictures {
		if n%scripts >= scriptAnswered && f.ledger.executor == "" {
			continue // the exchange rejected the executor, so it cannot claim
		}
		s := f.ledger.add(newScenario(fmt.Sprint(name, n), n%scripts, n >= scripts))
		code := f.ledger.run(f.Context(), s)
		if s.acked < len(s.steps) && code != http.StatusServiceUnavailable && code != 0 {
			f.addProblem("%s, step %d: answered with %d; want success or 503", s.id, s.acked, code)
		}
	}
}

// start starts the exchange and a client of its HTTP API.
func (f *faultRun) start(command ...string) *process {
	f.Helper()
	p, err := launch(f.dir, command...)
	if err != nil {
		f.Fatalf("%v: %v", f.fault, err)
	}
	if p.url == "" {
		return p
	}
	key, err := operatorKey(f.dir)
	if err != nil {
		f.Fatal(err)
	}
	old := f.ledger.apiClient
	f.ledger.apiClient = newAPIClient(p.url, key, "")
	if old != nil {
		f.ledger.executor = old.executor
	}
	if f.ledger.executor != "" {
		return p
	}
	if err := f.ledger.enroll(); err != nil && p.running() && !strings.Contains(err.Error(), "503") {
		f.unless = append(f.unless, err)
	}
	return p
}

// run runs the exchange once with the fault. A new start must then have all acknowledged data. It
// returns the calls that failed.
func (f *faultRun) run(before bool) []string {
	f.Helper()
	if before {
		p := f.start(f.binary)
		f.runScenarios("before-", 0)
		f.stop(p)
	}
	p := f.start(append(f.strace(f.dir, f.log), f.binary)...)
	if p.url != "" {
		f.runScenarios("with-", imageCount)
	}
	f.checkServing(p)
	f.stop(p)
	failed := f.injectedFaults()
	if len(failed) > 0 {
		f.checkRestart(patience, f.binary)
	}
	return failed
}

func (f *faultRun) stop(p *process) {
	f.Helper()
	if err := p.kill(); err != nil {
		f.Fatalf("%v: %v", f.fault, err)
	}
	for _, err := range f.unless { // only now the log is complete
		// A program that cannot print its address terminates.
		if !f.hasFailedCall("socket:") && !f.hasFailedCall("[eventfd]") && !f.hasFailedCall("write(1<") {
			f.addProblem("%v", err)
		}
	}
	f.unless = nil
}

// checkServing checks that the exchange still serves its data, or that it has terminated with a
// message that names the file.
func (f *faultRun) checkServing(p *process) {
	f.Helper()
	if f.hasFailedCall("[eventfd]") {
		return // the runtime of Go needs it to wake its poller, and cannot continue without it
	}
	if p.running() {
		i := &inspection{apiClient: f.ledger.apiClient}
		_, err := i.readList()
		for tries := 0; err != nil && tries < 20; tries++ { // strace fails the call once in each thread
			_, err = i.readList()
		}
		if err != nil {
			f.unless = append(f.unless, fmt.Errorf("it runs and does not serve: %w\n%s", err, &p.stderr))
		}
		return
	}
	if f.hasFailedCall("write(2<") {
		return // the program could not write its message
	}
	got := p.stderr.String()
	if f.hasFailedCall("write(1<") && strings.Contains(got, "messkit: error: write /dev/stdout: ") {
		return // strace fails the call once in each thread, so a file of the folder may fail beside it
	}
	if f.hasFailedCall(f.dir) && (!strings.Contains(got, "messkit: error: ") || !strings.Contains(got, f.dir)) {
		f.addProblem("it has ended, and does not say which file is to blame: %s", got)
	}
}

// checkRestart checks a new start: the exchange has all acknowledged data, and the folders follow within
// that time.
func (f *faultRun) checkRestart(within time.Duration, command ...string) {
	f.Helper()
	operator, executor := "", ""
	if f.ledger.apiClient != nil {
		operator, executor = f.ledger.operator, f.ledger.executor
	}
	p, err := launch(f.dir, command...)
	if err != nil || p.url == "" {
		f.addProblem("it does not start again: %v %s", err, &p.stderr)
		return
	}
	if operator == "" { // it never served, so it has issued no key to a client
		operator, err = operatorKey(f.dir)
	}
	if err != nil {
		f.Fatal(err)
	}
	i := &inspection{apiClient: newAPIClient(p.url, operator, executor)}
	i.checkAll(f.ledger.acknowledged(), f.ledger.intents())
	i.stopWhenComplete(p, f.dir, within)
	f.problems = append(f.problems, i.problems...)
}

// hasFailedCall reports whether a line of the log with that text is about a failed call.
func (f *faultRun) hasFailedCall(with string) bool {
	return slices.ContainsFunc(f.traceLines(), func(line string) bool {
		return strings.Contains(line, "(INJECTED)") && strings.Contains(line, with)
	})
}

// traceLines returns the log of strace. It joins the two lines of an interrupted call.
func (f *faultRun) traceLines() []string {
	data, err := os.ReadFile(f.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	begun := map[string]string{} // by thread
	for i, line := range lines {
		thread, rest, _ := strings.Cut(line, " ")
		if strings.HasSuffix(line, "<unfinished ...>") {
			begun[thread] = line
		} else if strings.HasPrefix(strings.TrimSpace(rest), "<... ") {
			lines[i] = begun[thread] + rest
		}
	}
	return lines
}

// injectedFaults lists the calls that failed.
func (f *faultRun) injectedFaults() []string {
	list := f.failedCalls()
	for i, line := range list {
		list[i] = f.callSite(line)
	}
	return list
}

// failedCalls lists the lines of the log about failed calls.
func (f *faultRun) failedCalls() []string {
	return slices.DeleteFunc(f.traceLines(), func(line string) bool { return !strings.Contains(line, "(INJECTED)") })
}

var (
	inLog  = regexp.MustCompile(`^\d+ +(\w+)`)
	random = regexp.MustCompile(`\d{4}-\d{2}-\d{2}-\d{3}[a-z0-9-]*|-\d+$|[0-9a-f]{64}$|[0-9a-f]{16}`)
)

// callSite returns the call and the file in the data folder of a line of the log, without the parts
// that change from run to run.
func (f *faultRun) callSite(line string) string {
	call := inLog.FindStringSubmatch(line)
	_, path, ok := strings.Cut(line, f.dir)
	if call == nil || !ok {
		return ""
	}
	path = path[:strings.IndexAny(path+">", `>"`)]
	return call[1] + " " + random.ReplaceAllString(path, "*")
}

// changes lists the calls that change the disk or sync it. The most frequent ones come last,
// because the time may run out before them.
var changes = []string{"fsync", "fdatasync", "syncfs", "pwrite64", "renameat", "renameat2", "ftruncate", "fallocate", "mkdirat", "linkat", "unlinkat", "openat", "write"}

// sites returns all changes of the data folder in a run without faults.
func sites(t *testing.T, binary string, before bool) map[string]bool {
	t.Helper()
	f := newFaultRun(t, binary, fault{call: strings.Join(changes, ","), errno: "EIO", nth: never})
	f.run(before)
	all := map[string]bool{}
	for _, line := range f.traceLines() {
		if s := f.callSite(line); s != "" {
			all[s] = true
		}
	}
	if len(all) == 0 || len(f.problems) > 0 {
		t.Fatalf("a run without faults: %d calls, %v", len(all), f.problems)
	}
	return all
}

// hasCall reports whether the call is among the sites.
func hasCall(all map[string]bool, call string) bool {
	for s := range all {
		if strings.HasPrefix(s, call+" ") {
			return true
		}
	}
	return false
}

// In each run one more call of a kind fails, until no call of that kind is left. The exchange
// keeps all acknowledged data, and rejects the data that it cannot store. MESSKIT_FAULTS is the
// number of seconds for each of the two states of the data folder.
func TestFailedCallsLoseNoData(t *testing.T) {
	if testing.Short() {
		t.Skip("starts hundreds of processes")
	}
	needStrace(t)
	binary := buildMesskit(t)
	mostTime := time.Duration(countFromEnv(t, "MESSKIT_FAULTS", 8)) * time.Second
	for _, before := range []bool{false, true} {
		begin, all := time.Now(), sites(t, binary, before)
		var mu sync.Mutex
		runs, seen := 0, map[string]bool{}
		t.Run(fmt.Sprintf("before=%v", before), func(t *testing.T) {
			for _, call := range changes {
				if !hasCall(all, call) {
					continue // no such call can fail
				}
				for _, errno := range []string{"EIO", "ENOSPC"} {
					t.Run(call+"="+errno, func(t *testing.T) {
						t.Parallel()
						n, failed := repeatFault(t, binary, fault{call: call, errno: errno}, before, begin.Add(mostTime))
						mu.Lock()
						defer mu.Unlock()
						runs += n
						maps.Copy(seen, failed)
					})
				}
			}
		})
		for site := range all {
			if call, path, _ := strings.Cut(site, " "); !seen[site] && path != "" {
				n, failed := repeatFault(t, binary, fault{call: call, errno: "EIO", path: path}, before, begin.Add(mostTime+mostTime/5))
				runs += n
				maps.Copy(seen, failed)
			}
		}
		maps.DeleteFunc(all, func(site string, _ bool) bool { return seen[site] })
		t.Logf("%d runs in %v; %d kinds of calls have failed; by chance not: %v", runs, time.Since(begin).Round(time.Second), len(seen), slices.Sorted(maps.Keys(all)))
	}
}

// mostRuns limits the runs with one kind of call.
const mostRuns = 16

// repeatFault repeats runs until no call fails, or the time is over.
func repeatFault(t *testing.T, binary string, what fault, before bool, end time.Time) (runs int, failed map[string]bool) {
	failed = map[string]bool{}
	for what.nth = 1; what.nth <= mostRuns && time.Now().Before(end); what.nth++ {
		f := newFaultRun(t, binary, what)
		list := f.run(before)
		runs++
		for _, s := range list {
			failed[s] = true
		}
		for _, problem := range f.problems {
			t.Errorf("%s, call %d fails with %s: %s; it was %s", what.call, what.nth, what.errno, problem, strings.Join(f.failedCalls(), "\n"))
		}
		if len(list) == 0 {
			break
		}
	}
	return runs, failed
}

// The checks above detect a disk that returns success and does nothing. It lies until the end,
// because the next look at a folder would repair a single lie.
func TestChecksDetectLyingDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("starts an exchange whose disk lies")
	}
	needStrace(t)
	f := newFaultRun(t, buildMesskit(t), fault{call: "renameat", nth: 1})
	lying := append(f.strace(f.dir, f.log), f.binary)
	lying[slices.Index(lying, "inject=renameat:retval=0:when=1")] += "+"
	f.stop(f.start(f.binary)) // creates the keys
	p := f.start(lying...)
	f.runScenarios("with-", 0)
	f.stop(p)
	f.checkRestart(2*time.Second, lying...) // the folders never come
	t.Logf("%d renames were left out: %v", len(f.injectedFaults()), f.problems)
	if len(f.problems) == 0 {
		t.Error("renames were left out, and nothing is missing")
	}
}
