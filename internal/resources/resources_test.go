package resources_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/messkit/messkit/internal/resources"
)

func TestShare(t *testing.T) {
	for name, c := range map[string]struct {
		of          resources.Limits
		size        int64
		part        int
		least, most int
		want        int
	}{
		"memory limits a small board":  {resources.Limits{Memory: 512 << 20, Files: 1 << 20}, 64 << 10, 8, 64, 16384, 1024},
		"files limit a large machine":  {resources.Limits{Memory: 24 << 30, Files: 20000}, 64 << 10, 8, 64, 16384, 2500},
		"never less than the least":    {resources.Limits{Memory: 1 << 20, Files: 10}, 64 << 10, 8, 64, 16384, 64},
		"never more than the most":     {resources.Limits{Memory: 1 << 50, Files: 1 << 30}, 64 << 10, 8, 64, 16384, 16384},
		"more memory than an int has":  {resources.Limits{Memory: 1 << 62, Files: 1 << 30}, 1, 8, 64, 16384, 16384},
		"a limit of files that is all": {resources.Limits{Memory: 1 << 50, Files: 1024}, 64 << 10, 2, 64, 100000, 512},
	} {
		if got := c.of.Share(c.size, c.part, c.least, c.most); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestOwnProcess(t *testing.T) {
	l := resources.Of()
	if l.Memory < 16<<20 || l.Files < 16 {
		t.Errorf("%+v", l)
	}
	before, known := resources.OpenFiles()
	if !known {
		t.Skip("the system does not list open files")
	}
	for i := range 5 {
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if n, _ := resources.OpenFiles(); n < before+i+1 {
			t.Errorf("%d files are open, want %d or more", n, before+i+1)
		}
	}
}
