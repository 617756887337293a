package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// ackedThread is a thread that an exchange has acknowledged. Its folder must contain this.
type ackedThread struct {
	ref    string
	status string   // "" if unknown
	words  []string // one message contains each of them
}

// checkFolders checks the MESSE-AF folders of an exchange against the specification and against
// the acknowledged threads. It shares no code with the writer of the folders.
func checkFolders(t *testing.T, dir string, acked []ackedThread) {
	t.Helper()
	for _, problem := range folderProblems(dir, acked) {
		t.Error(problem)
	}
}

// waitForFolders returns the problems in the folders of a running exchange. It waits until there are
// none, or until within is over, because the exchange writes folders after its responses.
func waitForFolders(dir string, acked []ackedThread, within time.Duration) (problems []string) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(within); time.Now().Before(end); <-tick.C {
		if problems = folderProblems(dir, acked); len(problems) == 0 {
			break
		}
	}
	return problems
}

// states maps the folders to their statuses (MESSE-AF 2.1, "Folder Mapping").
var states = map[string][]string{
	"state=received":  {"pending"},
	"state=executing": {"claimed", "in_progress", "waiting", "held", "needs_input", "needs_confirmation", "retrying"},
	"state=finished":  {"completed", "partial"},
	"state=canceled":  {"cancelled", "failed", "declined", "expired", "delegated", "superseded"},
}

// maxFile is the maximum size of a thread file (MESSE-AF 2.1, "Size Limits").
const maxFile = 1 << 20

var (
	threadName     = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}-\d{3,}(-[A-Za-z0-9._-]+)?$`)
	attachmentName = regexp.MustCompile(`^att-\d{3,}-[a-z_]+-[A-Za-z0-9._-]+$`)
)

// folders contains the threads and the problems that a check has found.
type folders struct {
	threads  map[string]*folder // by ref
	problems []string
}

// folder is the folder of one thread.
type folder struct {
	*folders
	dir      string
	ref      string
	state    string
	envelope map[string]any
	messages []*yaml.Node
	named    map[string]bool // attachments that messages name
}

func (f *folders) addProblem(format string, args ...any) {
	f.problems = append(f.problems, fmt.Sprintf(format, args...))
}

// folderProblems returns all problems.
func folderProblems(dir string, acked []ackedThread) []string {
	f := &folders{threads: map[string]*folder{}}
	for _, e := range f.entries(dir) {
		if !strings.HasPrefix(e.Name(), "state=") {
			continue // keys and other files
		}
		if _, ok := states[e.Name()]; !ok || !e.IsDir() {
			f.addProblem("%s: is no folder for a state", e.Name())
			continue
		}
		for _, thread := range f.entries(filepath.Join(dir, e.Name())) {
			f.read(filepath.Join(dir, e.Name()), thread)
		}
	}
	for _, a := range acked {
		f.checkAcked(a)
	}
	return f.problems
}

func (f *folders) entries(dir string) []fs.DirEntry {
	list, err := os.ReadDir(dir)
	if err != nil {
		f.addProblem("%v", err)
	}
	return list
}

// read reads the folder of one thread.
func (f *folders) read(dir string, e fs.DirEntry) {
	state, ref := filepath.Base(dir), e.Name()
	if !e.IsDir() || !threadName.MatchString(ref) {
		f.addProblem("%s/%s: is no folder of a thread", state, ref)
		return
	}
	if other, twice := f.threads[ref]; twice {
		f.addProblem("%s: is in %s and in %s", ref, other.state, state)
		return
	}
	t := &folder{folders: f, dir: filepath.Join(dir, ref), ref: ref, state: state, named: map[string]bool{}}
	f.threads[ref] = t
	var attached []string
	for _, e := range f.entries(t.dir) {
		switch {
		case !e.Type().IsRegular():
			t.addThreadProblem("%s: is no file", e.Name())
		case attachmentName.MatchString(e.Name()):
			attached = append(attached, e.Name())
		default:
			t.file(e.Name())
		}
	}
	t.checkComplete()
	for _, name := range attached {
		if !t.named[name] {
			t.addThreadProblem("%s: no message names it", name)
		}
	}
}

func (t *folder) addThreadProblem(format string, args ...any) {
	t.addProblem("%s/%s: %s", t.state, t.ref, fmt.Sprintf(format, args...))
}

// file reads a thread file. The caller passes the files in the order of their numbers, which is
// the order of the directory.
func (t *folder) file(name string) {
	number, rest, _ := strings.Cut(name, "-")
	n, err := strconv.Atoi(number)
	if err != nil || rest != t.ref+".messe-af.yaml" || number != fmt.Sprintf("%03d", n) {
		t.addThreadProblem("%s: does not belong there", name)
		return
	}
	data, err := os.ReadFile(filepath.Join(t.dir, name))
	if err != nil || len(data) == 0 || !bytes.HasSuffix(data, []byte("\n")) {
		t.addThreadProblem("%s: is empty or has no end: %v", name, err)
		return
	}
	docs := t.documents(name, data)
	if len(data) > maxFile && largest(data) <= maxFile {
		t.addThreadProblem("%s: %d bytes, and no document alone is that large", name, len(data))
	}
	if n == 0 && len(docs) > 0 {
		if err := docs[0].Decode(&t.envelope); err != nil {
			t.addThreadProblem("%s: the envelope: %v", name, err)
		}
		docs = docs[1:]
	}
	for _, d := range docs {
		t.message(name, d)
	}
}

// documents parses all documents of a file.
func (t *folder) documents(name string, data []byte) (docs []*yaml.Node) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var d yaml.Node
		err := dec.Decode(&d)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.addThreadProblem("%s: document %d: %v", name, len(docs)+1, err)
			break
		}
		docs = append(docs, &d)
	}
	if len(docs) == 0 {
		t.addThreadProblem("%s: has no document", name)
	}
	return docs
}

// largest returns the size of the largest document in bytes. Lines of block scalars are indented,
// so a separator at the start of a line always ends a document.
func largest(data []byte) int {
	most := 0
	for _, doc := range bytes.Split(data, []byte("\n---\n")) {
		most = max(most, len(doc))
	}
	return most
}

// message checks one message (MESSE-AF 2.1, "Message Document Fields").
func (t *folder) message(name string, d *yaml.Node) {
	var m struct {
		From     string `yaml:"from"`
		Received string `yaml:"received"`
		MESS     []any  `yaml:"MESS"`
	}
	if err := d.Decode(&m); err != nil || m.From == "" || m.Received == "" || len(m.MESS) == 0 {
		t.addThreadProblem("%s: line %d: is no message with from, received and MESS: %v", name, d.Line, err)
		return
	}
	t.messages = append(t.messages, d)
	t.attachments(d)
}

// attachments checks every file that a message names (MESSE-AF 2.1, "Attachment References").
func (t *folder) attachments(n *yaml.Node) {
	var a struct {
		File   string `yaml:"file"`
		MIME   string `yaml:"mime"`
		Size   *int64 `yaml:"size"`
		SHA256 string `yaml:"sha256"`
	}
	if n.Kind == yaml.MappingNode && n.Decode(&a) == nil && strings.HasPrefix(a.File, "att-") {
		t.named[a.File] = true
		data, err := os.ReadFile(filepath.Join(t.dir, filepath.Base(a.File)))
		sum := sha256.Sum256(data)
		switch {
		case err != nil:
			t.addThreadProblem("%s: %v", a.File, errors.Unwrap(err))
		case a.Size == nil || *a.Size != int64(len(data)) || a.MIME == "":
			t.addThreadProblem("%s: has %d bytes; its size or mime is not said so", a.File, len(data))
		case a.SHA256 != "" && a.SHA256 != hex.EncodeToString(sum[:]):
			t.addThreadProblem("%s: is not what its sha256 says", a.File)
		}
	}
	for _, child := range n.Content {
		t.attachments(child)
	}
}

// checkComplete checks the envelope, and that no file is missing.
func (t *folder) checkComplete() {
	if t.envelope == nil {
		t.addThreadProblem("has no envelope")
		return
	}
	names, err := filepath.Glob(filepath.Join(t.dir, "[0-9]*.messe-af.yaml"))
	slices.Sort(names)
	if last := fmt.Sprintf("%03d-%s.messe-af.yaml", len(names)-1, t.ref); err != nil || len(names) > 0 && filepath.Base(names[len(names)-1]) != last {
		t.addThreadProblem("%d files, and the last is not %s: %v", len(names), last, err)
	}
	for _, key := range []string{"ref", "requestor", "status", "created", "updated", "intent", "history"} {
		if t.envelope[key] == nil {
			t.addThreadProblem("the envelope has no %s", key)
		}
	}
	if t.envelope["ref"] != t.ref {
		t.addThreadProblem("the envelope is of %v", t.envelope["ref"])
	}
	if status, _ := t.envelope["status"].(string); !slices.Contains(states[t.state], status) {
		t.addThreadProblem("is %v", t.envelope["status"])
	}
	if len(t.messages) == 0 {
		t.addThreadProblem("has no message")
	}
}

// checkAcked checks a folder against the acknowledged thread.
func (f *folders) checkAcked(a ackedThread) {
	t, ok := f.threads[a.ref]
	if !ok {
		f.addProblem("%s: has no folder", a.ref)
		return
	}
	if t.envelope["status"] != a.status && a.status != "" {
		t.addThreadProblem("is %v, and was told to be %s", t.envelope["status"], a.status)
	}
	for _, w := range a.words {
		n := 0
		for _, m := range t.messages {
			if containsWord(m, w) {
				n++
			}
		}
		if n != 1 {
			t.addThreadProblem("%q stands in %d messages, want 1", w, n)
		}
	}
}

// containsWord reports whether a document contains a word.
func containsWord(n *yaml.Node, word string) bool {
	return strings.Contains(n.Value, word) || slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return containsWord(c, word) })
}

// A thread file in the style of the specification, and its overflow.
const (
	goodRef  = "2026-02-01-001-fridge-check"
	goodFile = `ref: 2026-02-01-001-fridge-check
requestor: claude-agent
executor: teague-phone
status: completed
created: 2026-02-01T17:00:00-08:00
updated: 2026-02-01T17:05:00-08:00
intent: check what's in the fridge (a:0)
priority: normal

history:
  - action: created
    at: 2026-02-01T17:00:00-08:00
    by: claude-agent

---
from: claude-agent
received: 2026-02-01T17:00:00-08:00
MESS:
  - request:
      intent: check what's in the fridge (a:0)
---
from: exchange
received: 2026-02-01T17:00:01-08:00
MESS:
  - ack:
      ref: 2026-02-01-001-fridge-check
`
	goodMore = `from: teague-phone
received: 2026-02-01T17:05:00-08:00
re: 2026-02-01-001-fridge-check
MESS:
  - status:
      code: completed
  - response:
      content:
        - image: {file: att-002-image-fridge.jpg, mime: image/jpeg, size: 9}
        - |
          (a:1)
            ---
          broccoli
`
)

// The check finds every kind of error in a folder, and none in a valid one.
func TestCheckFindsFolderErrors(t *testing.T) {
	const (
		at   = "state=finished/" + goodRef + "/"
		file = at + "000-" + goodRef + ".messe-af.yaml"
		more = at + "001-" + goodRef + ".messe-af.yaml"
		att  = at + "att-002-image-fridge.jpg"
	)
	replaced := func(s, old, with string) map[string]string {
		return map[string]string{file: strings.Replace(s, old, with, 1)}
	}
	note := func(size int) string {
		return "---\nfrom: a\nreceived: 2026-02-01T17:05:00Z\nMESS:\n  - reply:\n      text: " + strings.Repeat("x", size) + "\n"
	}
	for _, tt := range []struct {
		name string
		with map[string]string // changes of the good folder; "-" removes a file
		want string            // part of a problem, "" for none
	}{
		{"good", nil, ""},
		{"keys beside", map[string]string{"keys.json": "{}", "exchange/log/1": ""}, ""},
		{"another thread", map[string]string{"state=received/2026-02-01-002/000-2026-02-01-002.messe-af.yaml": strings.NewReplacer(goodRef, "2026-02-01-002", "completed", "pending").Replace(goodFile)}, ""},
		{"one large document", map[string]string{more: strings.TrimPrefix(note(maxFile+1), "---\n") + "---\n" + goodMore}, ""},
		{"gone", map[string]string{file: "-", more: "-", att: "-"}, "has no folder"},
		{"in two states", map[string]string{"state=canceled/" + goodRef + "/000-" + goodRef + ".messe-af.yaml": strings.Replace(goodFile, "completed", "failed", 1)}, "is in state=canceled and in state=finished"},
		{"another status", replaced(goodFile, "completed", "pending"), "is pending"},
		{"an older status", replaced(goodFile, "completed", "partial"), "is partial, and was told to be completed"},
		{"an unknown state", map[string]string{"state=done/x": ""}, "is no folder for a state"},
		{"a flat file", map[string]string{"state=received/2026-02-01-003.messe-af.yaml": goodFile}, "is no folder of a thread"},
		{"a temporary folder", map[string]string{"state=received/.tmp-1/x": ""}, "is no folder of a thread"},
		{"an empty folder", map[string]string{"state=received/2026-02-01-003/": ""}, "has no envelope"},
		{"an empty file", map[string]string{more: ""}, "is empty or has no end"},
		{"a temporary file", map[string]string{more + ".tmp": goodMore}, "does not belong there"},
		{"another thread's file", map[string]string{at + "002-2026-02-01-002.messe-af.yaml": goodMore}, "does not belong there"},
		{"a folder inside", map[string]string{at + "sub/x": ""}, "is no file"},
		{"a gap", map[string]string{at + "003-" + goodRef + ".messe-af.yaml": note(1)[4:]}, "the last is not 002-"},
		{"without the first file", map[string]string{file: "-"}, "has no envelope"},
		{"torn in a line", map[string]string{more: goodMore[:len(goodMore)-5]}, "is empty or has no end"},
		{"torn in a document", map[string]string{more: goodMore[:strings.Index(goodMore, "MESS")]}, "is no message"},
		{"zeros at the end", map[string]string{more: goodMore + "\x00\x00\n"}, "control characters"},
		{"an empty document", map[string]string{more: goodMore + "---\n"}, "is no message"},
		{"no YAML", map[string]string{more: goodMore + "---\na: [\n"}, "document 2"},
		{"another thread's envelope", replaced(goodFile, goodRef, "2026-02-01-002"), "the envelope is of 2026-02-01-002"},
		{"no history", replaced(goodFile, "history:\n  - action: created\n    at: 2026-02-01T17:00:00-08:00\n    by: claude-agent\n", ""), "the envelope has no history"},
		{"an envelope in the overflow", map[string]string{more: goodFile}, "is no message"},
		{"a message is missing", map[string]string{more: "-", att: "-"}, `"(a:1)" stands in 0 messages`},
		{"a message twice", map[string]string{more: goodMore + "---\n" + goodMore}, `"(a:1)" stands in 2 messages`},
		{"too large", map[string]string{more: goodMore + note(maxFile/2) + note(maxFile/2)}, "no document alone is that large"},
		{"no attachment", map[string]string{att: "-"}, "att-002-image-fridge.jpg: no such file"},
		{"half an attachment", map[string]string{att: "a pic"}, "has 5 bytes"},
		{"an attachment that nobody names", map[string]string{at + "att-009-file-x.pdf": "x"}, "no message names it"},
		{"no size", map[string]string{more: strings.Replace(goodMore, ", size: 9", "", 1)}, "its size or mime is not said so"},
		{"other bytes", map[string]string{more: strings.Replace(goodMore, "size: 9", "size: 9, sha256: "+strings.Repeat("0", 64), 1)}, "is not what its sha256 says"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			files := map[string]string{file: goodFile, more: goodMore, att: "a picture"}
			for name, text := range tt.with {
				files[name] = text
			}
			writeFolders(t, dir, files)
			acked := []ackedThread{{goodRef, "completed", []string{"(a:0)", "(a:1)"}}}
			if tt.want == "" {
				checkFolders(t, dir, acked)
			} else if got := strings.Join(folderProblems(dir, acked), "\n"); !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// writeFolders creates files and folders. It skips files with the content "-"; a name with a
// final / is a folder.
func writeFolders(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if text == "-" {
			continue
		}
		at := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			at = filepath.Join(at, "x")
		}
		err := os.MkdirAll(filepath.Dir(at), 0o700)
		if err == nil && !strings.HasSuffix(name, "/") {
			err = os.WriteFile(at, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
