package files

import "context"

// The kernel reports an error of the disk once, and may then show data that it has failed to
// write. After such an error the store writes the folders of all threads in its log anew before
// it releases one. A document in the log keeps this state over a restart.
const (
	diskKind   = "disk"
	diskUnsure = "unsure"
)

// rewriteAll schedules a rewrite of the folders of all threads in the log.
func (s *Store) rewriteAll(ctx context.Context) {
	if err := s.putAnyRevision(ctx, diskKind, diskUnsure, []byte("{}")); err != nil {
		return // the log takes no records, so the store releases no thread
	}
	s.project.writing.Lock() // a folder in progress was begun before the error
	s.index.markRewrite()
	s.project.writing.Unlock()
	s.project.checkLater(s.index.inLog())
	s.project.wakeUp()
}

// noteSynced removes the document after the disk has taken all folders.
func (s *Store) noteSynced(ctx context.Context) {
	if len(s.index.docsOf(diskKind)) == 0 || s.index.hasRewrites() {
		return
	}
	if err := s.putAnyRevision(ctx, diskKind, diskUnsure, nil); err != nil {
		s.project.logOnce("all", err)
	}
}

func (x *index) markRewrite() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, k := range x.threads {
		k.folder.rewrite = k.inLog()
	}
}

// hasRewrites reports whether a thread waits for a rewrite of its folder.
func (x *index) hasRewrites() (any bool) {
	x.each(func(k *threadState) bool {
		any = any || k.folder.rewrite
		return !any
	})
	return any
}
