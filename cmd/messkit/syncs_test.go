package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/disk"
)

// omission is a sync that does nothing and returns success.
type omission struct {
	name  string
	all   bool     // every sync of the process
	paths []string // otherwise the syncs of these files in the data folder
	// delay is the duration of each omitted sync, so that a cut can happen before the next sync
	// compensates for it.
	delay time.Duration
	// One request in this many has an image, which fills segments; 0: few.
	pictures int
}

// strace returns the command that omits the syncs.
func (o omission) strace(data string) []string {
	if !o.all && len(o.paths) == 0 {
		return nil
	}
	const syncs = "fsync,fdatasync,sync_file_range,syncfs,msync"
	args := []string{
		"strace", "-D", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "signal=none", "-e", "trace=" + syncs,
		"-e", fmt.Sprintf("inject=%s:retval=0:delay_exit=%d", syncs, o.delay.Microseconds()),
	}
	for _, p := range o.paths {
		args = append(args, "-P", filepath.Join(data, p))
	}
	return args
}

// logFolders are the possible folders of the log in the data folder.
var logFolders = []string{"log", "exchange/log"}

// logSegments returns the names of the first segments of the log.
func logSegments(suffix string) []string {
	var names []string
	for _, dir := range logFolders {
		for n := range 40 {
			names = append(names, fmt.Sprintf("%s/%016x.wal%s", dir, n+1, suffix))
		}
	}
	return names
}

// needStrace skips the test without a working strace.
func needStrace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is missing (Debian: strace)")
	}
	if out, err := exec.Command("strace", "-f", "-o", "/dev/null", "true").CombinedOutput(); err != nil {
		t.Skipf("strace may not trace here: %s", bytes.TrimSpace(out))
	}
}

// mostCuts is the maximum number of cuts until an omitted sync must cause a loss.
const mostCuts = 40

// wantLoss cuts the power until the check detects a loss.
func wantLoss(t *testing.T, binary string, o omission) {
	t.Helper()
	c := startCutRun(t, binary, o)
	cuts, first := 0, ""
	c.cutUntil(func(lost []string) bool {
		cuts++
		if len(lost) > 0 {
			first = lost[0]
		}
		return first != "" || cuts == mostCuts
	})
	if first == "" {
		t.Errorf("%d cuts without the sync, and nothing was lost", cuts)
		return
	}
	t.Logf("seen after %d cuts: %.300s", cuts, first)
}

// If the system only pretends to sync, the exchange loses acknowledged data, and the check
// detects it.
func TestPowerCutsWithoutSyncAreDetected(t *testing.T) {
	long := cutCount(t) >= longRunEnv
	needStrace(t)
	if !disk.HasOwnMounts(t) {
		return
	}
	binary := buildMesskit(t)
	for _, o := range []omission{
		{name: "any", all: true},
		{name: "of the log", paths: logSegments("")},
		// The syncs of the folder would write the new name at once, so the omission includes
		// them. The next commit of ext4 writes the name, and the cut must happen before it.
		{name: "of a new segment", paths: append(logSegments(".tmp"), logFolders...), delay: 1500 * time.Millisecond, pictures: 2},
	} {
		t.Run(o.name, func(t *testing.T) {
			if o.delay > 0 && !long {
				t.Skip("whether a cut falls between two commits of ext4 is chance; done with 1000 cuts and more")
			}
			wantLoss(t, binary, o)
		})
	}
}

// longRunEnv is the number of cuts from which the test includes cases that need luck.
const longRunEnv = 1000

// redundantSyncs lists syncs whose omission these cuts do not detect, with the operation that
// compensates for it.
var redundantSyncs = map[string]string{
	"internal/wal/segment.go build":                    "the next sync of the segment; TestPowerCutsWithoutSyncAreDetected holds it back",
	"internal/wal/load.go resume":                      "the next sync of the segment",
	"internal/wal/compact.go fillWith":                 "the sync of the whole segment in build; it only spreads the work of the disk",
	"exchange/store/files/blobs/upload.go keep":        "on ext4, the next sync of any file",
	"internal/durable/durable.go SyncDir":              "on ext4, the next sync of any file",
	"exchange/store/files/archive/single.go Move":      "nothing: it is for messkit archive",
	"exchange/store/files/archive/write.go Finish":     "nothing: no thread here is old enough to be archived",
	"exchange/store/files/external/import.go copyFile": "nothing: it is for messkit thread import",
	"exchange/store/files/tree/names.go SyncDir":       "nothing: it is for messkit thread import and archive",
	"exchange/store/files/tree/disk_linux.go Flush":    "the log, until it is made anew, which this load seldom reaches",
	"exchange/store/files/tree/disk_other.go Flush":    "nothing: it is for other systems",
	"internal/wal/damage.go turnBack":                  "nothing: no record is damaged here",
}

// storing lists the packages whose syncs count.
var storing = []string{"exchange/store/files", "exchange/store/files/archive", "exchange/store/files/blobs", "exchange/store/files/external", "exchange/store/files/tree", "exchange/keys", "internal/durable", "internal/wal"}

// A binary without one of the syncs in its source loses acknowledged data, and the check detects
// it.
func TestEachMissingSyncIsDetected(t *testing.T) {
	cutCount(t)
	if !disk.HasOwnMounts(t) {
		return
	}
	for site, calls := range syncSites(t) {
		for _, call := range calls {
			t.Run(site, func(t *testing.T) {
				if reason, ok := redundantSyncs[site]; ok {
					t.Skip("made up for by " + reason)
				}
				wantLoss(t, buildMesskit(t, "-overlay", call.without(t)), omission{})
			})
		}
	}
}

// The source contains each sync in redundantSyncs.
func TestRedundantSyncsExist(t *testing.T) {
	sites := syncSites(t)
	for site := range redundantSyncs {
		if len(sites[site]) == 0 {
			t.Errorf("madeUpFor has %q, where nothing syncs", site)
		}
	}
}

// syncSites returns the syncs of the storing packages, by "package/file function".
func syncSites(t *testing.T) map[string][]syncCall {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	sites := map[string][]syncCall{}
	for _, pkg := range storing {
		files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, call := range syncCalls(t, file) {
				site := pkg + "/" + filepath.Base(file) + " " + call.in
				sites[site] = append(sites[site], call)
			}
		}
	}
	return sites
}

// syncNames lists the names of functions that sync, of files and of package unix.
var syncNames = []string{"Sync", "Fsync", "Fdatasync", "Syncfs", "SyncFileRange"}

// syncCall is a call that syncs in a source file.
type syncCall struct {
	file             string
	in               string // function
	args             bool   // a function of a package, else a method
	begin, open, end int    // byte offsets of the call and of its arguments
}

// syncCalls returns the sync calls of a source file, none for a test file.
func syncCalls(t *testing.T, file string) (calls []syncCall) {
	t.Helper()
	if strings.HasSuffix(file, "_test.go") {
		return nil
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range tree.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := c.Fun.(*ast.SelectorExpr); ok && slices.Contains(syncNames, sel.Sel.Name) {
				at := func(p token.Pos) int { return set.Position(p).Offset }
				calls = append(calls, syncCall{file, f.Name.Name, len(c.Args) > 0, at(c.Pos()), at(c.Fun.End()), at(c.End())})
			}
			return true
		})
	}
	return calls
}

// without returns an overlay for go build that replaces the call with a function that does
// nothing.
func (c syncCall) without(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	none, keep := "func(...any) error { return nil }", ""
	if c.args { // keep the import in use
		keep = "\nvar _ = " + string(source[c.begin:c.open]) + "\n"
	}
	return overlayOf(t, c.file, slices.Concat(source[:c.begin], []byte(none), source[c.open:c.end], source[c.end:], []byte(keep)))
}

// overlayOf returns an overlay for go build that replaces a file with a text.
func overlayOf(t *testing.T, file string, text []byte) string {
	t.Helper()
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err := errors.Join(err, os.WriteFile(changed, text, 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		t.Fatal(err)
	}
	return overlay
}
