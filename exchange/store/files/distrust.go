package files

import "context"

// The kernel reports an error of the disk once, and it may go on showing data that it failed
// to write. So the store then writes the folders of all threads in its log anew before it
// lets go of one. A document in the log remembers that over a restart.
const (
	diskKind   = "disk"
	diskUnsure = "unsure"
)

// distrust has the folders of all threads in the log written anew.
func (s *Store) distrust(ctx context.Context) {
	if err := s.keep(ctx, diskKind, diskUnsure, []byte("{}")); err != nil {
		return // nothing can be stored, so nothing is let go
	}
	s.index.distrust()
	s.project.doubt(s.index.inLog())
	s.project.stir()
}

// trust notes that the disk has all folders, if it has.
func (s *Store) trust(ctx context.Context) {
	if len(s.index.docsOf(diskKind)) == 0 || s.index.distrusts() {
		return
	}
	if err := s.keep(ctx, diskKind, diskUnsure, nil); err != nil {
		s.project.complain("all", err)
	}
}

func (x *index) distrust() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, k := range x.threads {
		k.folder.rewrite = k.inLog()
	}
}

// distrusts reports whether a thread waits for its folder to be written anew.
func (x *index) distrusts() (any bool) {
	x.each(func(k *kept) bool {
		any = any || k.folder.rewrite
		return !any
	})
	return any
}
