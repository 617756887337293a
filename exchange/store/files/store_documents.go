package files

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"github.com/messkit/messkit/exchange/thread"
)

// smallDoc is a small document, and the number of its last change.
type smallDoc struct {
	data []byte
	seq  uint64
}

// putDoc stores a document, or removes it if doc is nil.
func (x *index) putDoc(kind, id string, doc []byte, seq uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	seq = x.next(seq)
	if doc == nil {
		delete(x.docs[kind], id)
		return
	}
	if x.docs[kind] == nil {
		x.docs[kind] = map[string]smallDoc{}
	}
	x.docs[kind][id] = smallDoc{bytes.Clone(doc), seq}
}

func (x *index) docsOf(kind string) map[string]smallDoc {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return maps.Clone(x.docs[kind])
}

// docRev returns the revision of a document; "" if there is none.
func (x *index) docRev(kind, id string) thread.Rev {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.docs[kind][id].rev()
}

func (d smallDoc) rev() thread.Rev {
	if d.seq == 0 {
		return ""
	}
	return thread.Rev(strconv.FormatUint(d.seq, 10))
}

func (x *index) kinds() []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Sorted(maps.Keys(x.docs))
}
