package store_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/store/transfer"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon/store"
)

// No exchange starts on a store with an incomplete copy, because it lacks stops and requests.
func TestIncompleteCopyIsRefused(t *testing.T) {
	t.Parallel()
	for mark, want := range map[string]string{
		`{"source":"/old","complete":false}`: "it has a part of /old only, because messkit store copy has not ended",
		`broken`:                             "it has a part of an unknown source only",
		`{"source":"/old","complete":true}`:  "",
	} {
		dir := t.TempDir()
		s, err := files.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), transfer.MarkKind, transfer.MarkID, []byte(mark), ""); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		opened, err := store.Open(t.Context(), &config.Exchange{Data: dir}, slog.New(slog.DiscardHandler))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", mark, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", mark, err, want)
		}
		if opened != nil {
			if err := opened.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
