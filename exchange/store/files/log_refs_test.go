package files_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/internal/wal"
)

// LoggedRefs lists the threads that the log still has, and neither those that their folders have nor
// removed ones.
func TestLoggedRefs(t *testing.T) {
	dir := t.TempDir()
	log, err := wal.Open(filepath.Join(dir, "log"), func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	of := func(ref string) *logformat.Summary { return &logformat.Summary{Ref: ref} }
	records := [][]byte{logformat.EncodeFormat(logformat.Format)}
	for _, r := range []logformat.Record{
		{Thread: of("new")},
		{Thread: of("ended")},
		{Thread: of("removed")},
		{Step: of("ended")},
		{Ref: "compacted"},
		{Ended: of("ended")},
		{Gone: "removed"},
		{Kind: "executor", ID: "pi", Doc: []byte("{}")},
	} {
		if r.HasEnvelope() {
			r.Envelope = []byte("{}")
		}
		data, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, data)
	}
	if err := log.Append(t.Context(), records...); err != nil {
		t.Fatal(err)
	}
	got, err := files.LoggedRefs(dir) // while the log is open
	if want := []string{"compacted", "new"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}
