package thread

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess/messeaf"
)

const (
	// folderWait is the longest time that a command waits for the folder of a thread.
	folderWait = 5 * time.Second
	// folderPoll is the time between two searches for the folder.
	folderPoll = 100 * time.Millisecond
)

// whenWritten calls find, and again while only the log of the exchange has the thread: the
// exchange writes the folder a moment after a step.
func whenWritten[T any](ctx context.Context, a *output.Env, data, arg string, find func() (T, error)) (T, error) {
	v, err := find()
	if !errors.Is(err, errNoThread) || !messeaf.ValidRef(arg) {
		return v, err
	}
	refs, logErr := files.LoggedRefs(data)
	if logErr != nil && !errors.Is(logErr, fs.ErrNotExist) {
		return v, errors.Join(err, logErr)
	}
	found := client.Begun(arg, refs)
	if len(found) == 0 {
		return v, err
	}
	if len(found) > 1 {
		return v, client.SeveralBegin(arg, found, nil)
	}
	fmt.Fprintf(a.Err, "%s: the exchange has not written its folder yet; waiting up to %v\n", found[0], folderWait)
	ctx, cancel := context.WithTimeout(ctx, folderWait)
	defer cancel()
	for wait.For(ctx, folderPoll) {
		if v, err = find(); !errors.Is(err, errNoThread) {
			return v, err
		}
	}
	return v, output.Hint(fmt.Errorf("%s: the exchange has this thread, and has not written its folder in %s yet", found[0], data),
		"messkit show %s reads it from the exchange; if no exchange runs there, start it, and it writes the folder", found[0])
}
