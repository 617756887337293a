package keys_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
)

const receiptKey = "xc3tBbVKfzdPiwGkF3CFsw/Pgkb0G52LEjmIQyphbFA="

// The keys of a folder go into another one by documents, and work there.
func TestFolderKeepsKeys(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	k, err := keys.Open(from, "home")
	if err != nil {
		t.Fatal(err)
	}
	robot, err := k.Issue("robot", exchange.ExecutorRole)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Pin("robot", receiptKey); err != nil {
		t.Fatal(err)
	}
	source, err := keys.OpenFolder(from)
	if err != nil {
		t.Fatal(err)
	}
	target, err := keys.OpenFolder(to)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for channel, docs := range source.Channels() {
		for name, doc := range docs {
			if err := target.Put(channel, name, doc); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	if n != 3 { // the operator and the robot, and the receipt key
		t.Errorf("%d documents, want 3", n)
	}
	if _, err := os.Stat(filepath.Join(to, "keys.json")); err == nil {
		t.Error("the keys are on the disk before Save")
	}
	if err := target.Save(); err != nil {
		t.Fatal(err)
	}
	again, err := keys.Open(to, "home")
	if err != nil {
		t.Fatal(err)
	}
	if a, err := again.Authenticate(robot); err != nil || a.ID != "robot" || a.Roles != exchange.ExecutorRole {
		t.Errorf("%+v, %v", a, err)
	}
	if pins, err := keys.Pins(to); err != nil || !maps.Equal(pins, map[string]string{"robot": receiptKey}) {
		t.Errorf("receipt keys %v, %v", pins, err)
	}
}

// A document that is none of keys changes nothing.
func TestFolderRefusesDocuments(t *testing.T) {
	t.Parallel()
	f, err := keys.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct{ channel, name, doc, want string }{
		{"notices", "a", "{}", "is no channel of keys"},
		{"keys", "ana", "[", "the keys of ana"},
		{"keys", "ana", `{"ab":{"actor":"bob","roles":["observer"]}}`, "those of another actor"},
		{"keys", "ana", `{"ab":{"actor":"ana","roles":["king"]}}`, "king"},
		{"receipt-keys", "robot", "short", "unreadable"},
	} {
		if err := f.Put(bad.channel, bad.name, []byte(bad.doc)); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	for channel, docs := range f.Channels() {
		if len(docs) > 0 {
			t.Errorf("%s has %v", channel, docs)
		}
	}
}

// FuzzFolderDocument gives any document to a folder. One that it takes comes back from the disk.
func FuzzFolderDocument(f *testing.F) {
	f.Add("ana", `{"ab":{"actor":"ana","roles":["observer"],"created":"2026-01-01T00:00:00Z"}}`)
	f.Add("ana", `{}`)
	f.Fuzz(func(t *testing.T, name, doc string) {
		dir := t.TempDir()
		k, err := keys.OpenFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		if k.Put("keys", name, []byte(doc)) != nil {
			return
		}
		if k.Save() == nil {
			if is, err := keys.OpenFolder(dir); err != nil || string(is.Channels()["keys"][name]) != doc {
				t.Errorf("%q came back as %q, %v", doc, is.Channels()["keys"][name], err)
			}
		}
	})
}
