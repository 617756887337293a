package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
		{"an attachment that no message names", map[string]string{at + "att-009-file-x.pdf": "x"}, "no message names it"},
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
