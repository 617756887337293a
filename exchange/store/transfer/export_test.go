package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/store/transfer"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess/messeaf"
)

// failsOnce is a store that fails to read one thread once, when the copies of the others are complete.
type failsOnce struct {
	thread.Store
	ref    string
	failed bool
}

func (f *failsOnce) Read(ctx context.Context, ref string) (thread.Thread, thread.Rev, error) {
	if ref == f.ref && !f.failed {
		f.failed = true
		synctest.Wait()
		return thread.Thread{}, "", errCut
	}
	return f.Store.Read(ctx, ref)
}

// An export that follows its source goes on after an error of the source, which stops the copy of some
// threads and not of others.
func TestFollowGoesOnAfterError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, target := &failsOnce{Store: memory.New(), ref: messeaf.Ref("2026-02-01", 4, "")}, memory.New()
		more(t, source.Store, 0, 2)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		var errs []error
		err := transfer.Follow(ctx, source, target, transfer.Options{Source: "a test"},
			func(transfer.Exported) { more(t, source.Store, 2, 4) }, func(err error) { errs = append(errs, err) })
		if err != nil {
			t.Fatal(err)
		}
		if len(errs) != 1 || !errors.Is(errs[0], errCut) {
			t.Errorf("the errors are %q, want that of the source once", errs)
		}
		for i := range 4 {
			compareThread(t, source.Store, target, messeaf.Ref("2026-02-01", i+1, ""), i)
		}
	})
}

// A source may have threads of any name. An export refuses a name that leads out of the folder, and writes
// no file under it.
func TestHostileNamesAreRefused(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, ref := range []string{"../evil", "/etc/evil", "..", "a\x00b", "2026-02-01-001/../../evil"} {
		source, top := memory.New(), t.TempDir()
		target := folder(t, filepath.Join(top, "a", "b"))
		if _, err := transfer.Export(t.Context(), source, target, transfer.Options{Source: "a test"}); err != nil {
			t.Fatal(err)
		}
		before := filesIn(t, top)
		mustAppend(t, source, storetest.Step(ref, "agent", "", storetest.Start))
		_, err := transfer.Export(t.Context(), source, target, transfer.Options{Source: "a test"})
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("source: %q is no valid name", ref)) {
			t.Errorf("%q: %v", ref, err)
		}
		if err := target.Settle(ctx); err != nil {
			t.Errorf("%q: %v", ref, err)
		}
		if after := filesIn(t, top); !slices.Equal(after, before) {
			t.Errorf("%q: the files are %q, before %q", ref, after, before)
		}
	}
}

// filesIn returns the paths of all files in a folder.
func filesIn(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
