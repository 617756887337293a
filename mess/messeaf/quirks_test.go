package messeaf_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// thread returns a small thread; with replaces its second message.
func thread(envelope, with string) string {
	return "ref: 2026-11-21-ABCD\nrequestor: agent\n" + envelope + "\n---\nfrom: agent\nMESS:\n  - request: {intent: check door}\n---\n" + with
}

const enough = "status: completed\ncreated: 2026-11-21T10:00:00.000Z\nupdated: 2026-11-21T10:02:00Z\nintent: check door\nhistory: []"

// The package reads the files of other implementations (numbers refer to the contract on
// MESSE-AF files), and prints them without loss.
func TestFilesOfOtherImplementations(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"2: re inside the items, first ack is last", thread(enough, "from: exchange\nMESS:\n  - ack: {re: last, ref: 2026-11-21-ABCD}\n---\nfrom: phone\nMESS:\n  - status: {re: 2026-11-21-ABCD, code: claimed}"), "code: claimed"},
		{"3: executor null, fields of others", thread(enough+"\nexecutor: null\nneeded_by: 2026-11-22T10:00:00Z\nconfirm_before: true", ""), "needed_by"},
		{"5: hyphens", thread(strings.Replace(enough, "completed", "in-progress", 1), "from: phone\nMESS:\n  - status: {code: needs-input}"), "status: in_progress"},
		{"5: rejected", thread(strings.Replace(enough, "completed", "rejected", 1), ""), "status: declined"},
		{"5: free text", thread(strings.Replace(enough, "completed", "almost there", 1), "from: phone\nMESS:\n  - status: {code: almost there}"), "status: almost there"},
		{"9: a file without a size", thread(enough, "from: web\nMESS:\n  - response:\n      content:\n        - file: {path: att-001-image-image.jpg, name: a.jpg, mime: image/jpeg}"), "path: att-001-image-image.jpg"},
		{"10: name and data", thread(enough, "from: web\nMESS:\n  - response:\n      content:\n        - image: {name: a.png, data: aGVsbG8=}"), "data: aGVsbG8="},
		{"10: attachment", thread(enough, "from: web\nMESS:\n  - response:\n      content:\n        - attachment: {name: a.png, data: aGVsbG8=}"), "attachment:"},
		{"10: file with data", thread(enough, "from: web\nMESS:\n  - response:\n      content:\n        - file: {name: a.pdf, type: application/pdf, size: 5, data: aGVsbG8=}"), "type: application/pdf"},
		{"10: location", thread(enough, "from: web\nMESS:\n  - response:\n      content:\n        - location: {lat: 37.9, lng: -122.5, accuracy: 10, timestamp: 1795227801}"), "timestamp: 1795227801"},
		{"10: audio", thread(enough, "from: web\nMESS:\n  - response:\n      content:\n        - audio: data:audio/mpeg;base64,aGVsbG8="), "data:audio/mpeg;base64,aGVsbG8="},
		{"12: answer without an id", thread(enough, "from: agent\nMESS:\n  - answer: {re: 2026-11-21-ABCD, value: both}"), "value: both"},
		{"14: marks that others refuse", "%YAML 1.2\n--- # the envelope\n" + thread(enough, "from: phone\nMESS: [{status: {code: claimed}}]\n...\n"), "claimed"},
		{"14: CRLF", strings.ReplaceAll(thread(enough, "from: phone\nMESS:\n  - status: {code: claimed}\n"), "\n", "\r\n"), "code: claimed"},
		{"14: a mark inside a block", thread(enough, "from: phone\nMESS:\n  - response:\n      content:\n        - |\n          one\n          ---\n          two\n"), "          ---\n"},
		{"15: seconds since 1970", thread(strings.Replace(enough, "2026-11-21T10:00:00.000Z", "1795227801", 1), "from: phone\nreceived: 1795227801\nMESS:\n  - status: {code: claimed}"), `received: "2026-11-21T02:23:21Z"`},
		{"15: bare words", thread(enough, "from: phone\nMESS:\n  - response:\n      content: [no, yes, on]"), "- \"no\""},
		{"15: as Symfony prints", thread(enough, "from: phone\nreceived: '2026-11-21T02:23:24+00:00'\nMESS:\n  -\n    response:\n      content:\n        - \"one\\ntwo\"\n      extra: {  }"), "one\n"},
		{"16: texts that are none", thread("status: 7\ncreated: 2026-11-21T10:00:00Z\nupdated: 2026-11-21T10:00:00Z\nintent: {text: look}\npriority: 2\nexecutor: {id: phone, name: P}\nhistory: []", ""), "executor: phone"},
		{"16: a request that is none", thread(enough, "from: x\nMESS:\n  - status: done\n  - request: {intent: [a, b]}"), "status: done"},
		{"a server's whole thread", string(read(t, "node-server.messe-af.yaml")), "size: 716802"},
		{"history that is none", thread(strings.Replace(enough, "history: []", "history: none", 1), ""), "history: none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			th := parse(t, tt.text)
			text := print(t, th)
			if !strings.Contains(text, tt.want) {
				t.Errorf("%q is not in:\n%s", tt.want, text)
			}
			if diff := cmp.Diff(th, parse(t, text)); diff != "" {
				t.Errorf("parsed again: %s", diff)
			}
		})
	}
}

// Attachments finds data in documents and separate files in every form.
func TestAttachmentsInEveryForm(t *testing.T) {
	th := parse(t, thread(enough, `from: web
MESS:
  - response:
      content:
        - image: {file: att-002-image-a.jpg, mime: image/jpeg, size: 9}
        - file: {path: att-003-file-b.pdf, name: b.pdf, mime: application/pdf}
        - image: data:image/png;base64,aGVsbG8=
        - image: {name: c d.png, data: "data:image/png;base64,aGVsbG8="}
        - attachment: {name: ../../e.txt, data: aGVsbG8=}
        - image: https://example.com/a.jpg
        - image: {file: ../../../etc/passwd, mime: image/jpeg, size: 1}
        - image: {resource: content://2026-11-21-ABCD/att-004-image-g.jpg, mime: image/jpeg, size: 9}
        - image: content://2026-11-20-001/response-002/att-005-image-h.jpg
        - image: content://../att-006-image-i.jpg
        - text: no file
---
from: agent
MESS:
  - request: {intent: more, attachments: [{name: f.jpg, data: aGVsbG8=}]}
`))
	var names []string
	for _, a := range th.Attachments() {
		names = append(names, strings.TrimSpace(a.Thread+" "+a.Name))
		if a.Data != nil && string(a.Data) != "hello" {
			t.Errorf("%s holds %q", a.Name, a.Data)
		}
	}
	want := []string{
		"att-002-image-a.jpg", "att-003-file-b.pdf", "att-001-image-image.png", "att-001-image-c_d.png", "att-001-file-e.txt",
		"att-004-image-g.jpg", "2026-11-20-001 att-005-image-h.jpg", "att-001-image-f.jpg",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// Archives of other implementations open, and have the same content after a rewrite.
func TestArchivesOfOtherImplementations(t *testing.T) {
	names, err := filepath.Glob("testdata/archives/*.zip")
	if err != nil || len(names) != 3 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		first, th := unzip(t, data)
		if want, _ := strings.CutSuffix(filepath.Base(name), messeaf.ZipExt); th.Envelope.Ref != want || len(th.Messages) == 0 {
			t.Errorf("%s holds %s with %d messages", name, th.Envelope.Ref, len(th.Messages))
		}
		var again bytes.Buffer
		fsys, err := messeaf.OpenArchive(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if err := messeaf.Archive(&again, fsys, first); err != nil {
			t.Fatal(err)
		}
		second, same := unzip(t, again.Bytes())
		if diff := cmp.Diff(th, same); diff != "" || first != second {
			t.Errorf("%v, %v: %s", first, second, diff)
		}
	}
}

func unzip(t *testing.T, data []byte) (messeaf.Place, messeaf.Thread) {
	t.Helper()
	fsys, err := messeaf.OpenArchive(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	places, err := messeaf.List(fsys)
	if err != nil || len(places) != 1 {
		t.Fatalf("%v, %v", places, err)
	}
	th, err := places[0].Read(fsys)
	if err != nil {
		t.Fatal(err)
	}
	if wrong, _ := places[0].Check(fsys); len(wrong) > 0 {
		t.Errorf("wrong: %v", wrong)
	}
	return places[0], th
}

// List finds threads in every layout.
func TestLayouts(t *testing.T) {
	text := &fstest.MapFile{Data: []byte(thread(enough, ""))}
	for name, tt := range map[string]struct {
		fsys fstest.MapFS
		want messeaf.Place
	}{
		"v2":                     {fstest.MapFS{"state=finished/2026-11-21-ABCD/000-2026-11-21-ABCD.messe-af.yaml": text, "config.yaml": text}, messeaf.Place{Ref: "2026-11-21-ABCD", Path: "state=finished/2026-11-21-ABCD", Folder: messeaf.Finished}},
		"v1":                     {fstest.MapFS{"state=finished/2026-11-21-ABCD.messe-af.yaml": text}, messeaf.Place{Ref: "2026-11-21-ABCD", Path: "state=finished/2026-11-21-ABCD.messe-af.yaml", Folder: messeaf.Finished, Flat: true}},
		"short":                  {fstest.MapFS{"state=finished/2026-11-21-ABCD.messe-af": text}, messeaf.Place{Ref: "2026-11-21-ABCD", Path: "state=finished/2026-11-21-ABCD.messe-af", Folder: messeaf.Finished, Flat: true}},
		"symlinks":               {fstest.MapFS{"threads/2026-11-21-ABCD.messe-af.yaml": text, "by-status/state=finished/2026-11-21-ABCD.messe-af.yaml": text}, messeaf.Place{Ref: "2026-11-21-ABCD", Path: "threads/2026-11-21-ABCD.messe-af.yaml", Flat: true}},
		"a folder":               {fstest.MapFS{"000-2026-11-21-ABCD.messe-af.yaml": text}, messeaf.Place{Ref: "2026-11-21-ABCD", Path: "."}},
		"an archive of a folder": {fstest.MapFS{"2026-11-21-ABCD/000-2026-11-21-ABCD.messe-af.yaml": text, "docs/readme": text}, messeaf.Place{Ref: "2026-11-21-ABCD", Path: "2026-11-21-ABCD"}},
	} {
		places, err := messeaf.List(tt.fsys)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]messeaf.Place{tt.want}, places); diff != "" {
			t.Errorf("%s: %s", name, diff)
			continue
		}
		th, err := places[0].Read(tt.fsys)
		if err != nil || th.Envelope.Status != mess.Completed {
			t.Errorf("%s: %v, %v", name, th.Envelope, err)
		}
		if e, err := places[0].ReadEnvelope(tt.fsys); err != nil || e.Ref != th.Envelope.Ref {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
}

// Read reads the files of a thread in the order of their numbers.
func TestOverflowFiles(t *testing.T) {
	fsys := fstest.MapFS{}
	fsys["state=finished/T/000-T.messe-af.yaml"] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(thread(enough, ""), "2026-11-21-ABCD", "T"))}
	for _, n := range []string{"001", "002", "010"} {
		fsys["state=finished/T/"+n+"-T.messe-af.yaml"] = &fstest.MapFile{Data: []byte("---\nfrom: phone\nre: T\nMESS:\n  - status: {code: in_progress, message: file " + n + "}\n")}
	}
	place := messeaf.Place{Ref: "T", Path: "state=finished/T", Folder: messeaf.Finished}
	th, err := place.Read(fsys)
	if err != nil || len(th.Messages) != 4 || th.Messages[3].Ref != "T/status-003" {
		t.Fatalf("%v, %v", th, err)
	}
	for most, want := range map[int]int{0: 0, 1: 1, 9: 1} { // the file of the envelope has one message
		some, err := place.ReadBeginning(fsys, most)
		if diff := cmp.Diff(th.Envelope, some.Envelope); err != nil || diff != "" || len(some.Messages) != want {
			t.Errorf("the beginning with %d messages has %d: %v %s", most, len(some.Messages), err, diff)
		}
	}
	wrong, _ := place.Check(fsys)
	if len(wrong) != 1 || !strings.Contains(wrong[0].Error(), "010-T.messe-af.yaml: is file 3 of the thread; number 003 is missing") {
		t.Errorf("got %v", wrong)
	}
}
