package transfer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/store/memory"
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
