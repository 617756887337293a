package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/messkit/messkit/internal/durable"
)

func TestUsed(t *testing.T) {
	data := t.TempDir()
	journal := filepath.Join(data, "journal")
	for _, there := range []bool{false, true} {
		if there {
			if err := os.Mkdir(journal, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := durable.Use(data, "journal"); err != nil {
			t.Fatal(err)
		}
		if durable.Used(data) != there {
			t.Errorf("with a journal %t: used %t", there, durable.Used(data))
		}
	}
	if err := os.Remove(journal); err != nil {
		t.Fatal(err)
	}
	if !durable.Used(data) {
		t.Error("Used = false without the folder, want true")
	}
	if durable.Used(filepath.Join(data, "used")) {
		t.Error("a file is a folder that was used")
	}
}
