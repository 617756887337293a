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
