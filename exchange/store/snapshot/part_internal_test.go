package snapshot

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/mess"
)

// entriesOf decodes a part into entries that it can encode again.
func entriesOf(data string) (again []byte, err error) {
	var c encoder
	err = decode(data, func(e *Entry) error {
		c.add(e)
		return nil
	})
	return c.data, err
}

// A part that decodes has a repeated encoding that does not change, and other bytes get an error.
func FuzzPart(f *testing.F) {
	var c encoder
	for _, e := range []Entry{
		{Seq: 3, form: endedThread, ended: logformat.Summary{Ref: "2026-01-01-001", Requester: "r", Executor: "e", Held: []string{"h"}, Status: mess.Failed, Updated: time.Unix(-1, 2), Ver: 3, Requires: []string{"look", "e"}, Devices: []string{"e:lamp"}}},
		{Seq: 4, form: openThread, ref: "2026-01-01-002", envelope: []byte(`{"Ref":"2026-01-01-002"}`)},
		{Seq: 90, form: removedThread, ref: "2026-01-01-003"},
		{Seq: 1 << 60, form: document, kind: "executor", id: "e", doc: []byte("{}")},
		{Seq: 1<<60 + 1, form: removedDocument, kind: "executor", id: "f"},
	} {
		c.add(&e)
	}
	f.Add(string(c.data))
	f.Add(head)
	f.Add(head + "\x01")
	f.Fuzz(func(t *testing.T, data string) {
		once, err := entriesOf(data)
		if err != nil {
			return
		}
		twice, err := entriesOf(string(once))
		if len(once) > 0 && (err != nil || !bytes.Equal(once, twice)) {
			t.Errorf("%q becomes %q, then %q, %v", data, once, twice, err)
		}
	})
}

// A manifest that is read names parts for each segment, whatever the bytes are.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"version":1,"stream":"s","position":7,"serials":{"2026-01-01":3},"segments":[{"entries":1,"parts":[{"name":"snapshot-A-0","size":9,"sha256":"00"}]}],"begun":[{"id":"B","at":"2026-01-01T00:00:00Z"}],"old":[{"name":"snapshot-C-0","at":"2026-01-01T00:00:00Z"}]}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`{"version":1,"stream":"s","segments":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data, "s")
		if err != nil {
			return
		}
		for _, s := range m.Segments {
			if len(s.Parts) == 0 || s.Entries < 1 {
				t.Errorf("%+v is empty", s)
			}
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseManifest(text, "s"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	})
}
