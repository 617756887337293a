package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/mess"
)

// The importer puts a thread into the folder of its status, once and complete.
func TestImportedThreadIsStoredOnce(t *testing.T) {
	dir := t.TempDir()
	put := daemon.Importer(dir)
	text := []byte("ref: 2026-01-20-001\nrequestor: agent\nstatus: pending\nintent: look\n---\nfrom: agent\nMESS:\n- request: {intent: look}\n")
	folder := map[string][]byte{"000-2026-01-20-002.messe-af.yaml": []byte("ref: 2026-01-20-002\nrequestor: agent\nstatus: completed\nintent: look\n---\nfrom: agent\nMESS:\n- request: {intent: look}\n"), "att-002-image-a.png": []byte("png")}
	for _, c := range []struct {
		ref   string
		files map[string][]byte
		why   error // nil: the import succeeds
		lies  string
	}{
		{"2026-01-20-001", map[string][]byte{"2026-01-20-001.messe-af.yaml": text}, nil, "state=received/2026-01-20-001.messe-af.yaml"},
		{"2026-01-20-001", map[string][]byte{"2026-01-20-001.messe-af.yaml": text}, mess.Conflict, ""},
		{"2026-01-20-002", folder, nil, "state=finished/2026-01-20-002/att-002-image-a.png"},
		{"2026-01-20-003", map[string][]byte{"000-2026-01-20-003.messe-af.yaml": []byte("hello")}, mess.Invalid, ""},
		{"2026-01-20-005", map[string][]byte{"2026-01-20-005.messe-af.yaml": []byte("ref: 2026-01-20-005\n")}, mess.Invalid, ""},
		{"2026-01-20-006", map[string][]byte{"2026-01-20-006.messe-af.yaml": []byte("ref: 2026-01-20-006\nrequestor: agent\nstatus: pending\nintent: look\n")}, mess.Invalid, ""},
		{"2026-01-20-007", map[string][]byte{"2026-01-20-007.messe-af.yaml": []byte("ref: 2026-01-20-007\nrequestor: agent\nstatus: in_progress\nexecutor: pi\n")}, mess.Invalid, ""},
		{"2026-01-20-008", map[string][]byte{"2026-01-20-008.messe-af.yaml": []byte("ref: 2026-01-20-008\nrequestor: agent\nstatus: pending\n---\nfrom: agent\nMESS:\n- request: {intent: look, priority: hurry}\n")}, mess.Invalid, ""},
		{"2026-01-20-009", map[string][]byte{"2026-01-20-009.messe-af.yaml": []byte("ref: 2026-01-20-009\nrequestor: agent\nstatus: pending\n---\nfrom: agent\nMESS:\n- request: {intent: look, context: [{image: {file: att-001-image-a.png, mime: image/png, size: 3}}]}\n")}, mess.Invalid, ""},
		{"2026-01-20-004", map[string][]byte{"att-002-image-a.png": []byte("png")}, mess.Invalid, ""},
	} {
		err := put(c.ref, c.files)
		if !errors.Is(err, c.why) || err != nil && c.why == nil {
			t.Errorf("%s: %v, want %v", c.ref, err, c.why)
		}
		if c.lies == "" {
			if found, _ := filepath.Glob(filepath.Join(dir, "*", "*"+c.ref+"*")); c.why == mess.Invalid && len(found) > 0 {
				t.Errorf("%s was refused, and lies in %v", c.ref, found)
			}
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, c.lies)); err != nil {
			t.Error(err)
		}
	}
}
