package jetstream

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// subject returns a subject of this store.
func (s *Store) subject(rest string) string { return s.cfg.Prefix + "." + s.cfg.Site + "." + rest }

func (s *Store) threadSubject(ref string) string        { return s.subject("t." + hash(ref)) }
func (s *Store) keySubject(k thread.Key) string         { return s.subject("k." + hash(k.Owner, k.Name)) }
func (s *Store) documentSubject(kind, id string) string { return s.subject("d." + hash(kind, id)) }

// hash returns a token for a subject. Names can have characters that a subject cannot have, so the
// token is the first half of their SHA-256.
func hash(names ...string) string {
	h := sha256.New()
	for _, name := range names {
		fmt.Fprintf(h, "%d:%s", len(name), name)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// revOf returns the revision of a thread or document: the sequence of its last message.
func revOf(seq uint64) thread.Rev { return thread.Rev(strconv.FormatUint(seq, 10)) }

// sequence returns the sequence of a revision; 0 for none.
func sequence(r thread.Rev) (uint64, error) {
	if r == "" {
		return 0, nil
	}
	return strconv.ParseUint(string(r), 10, 64)
}

// position returns the sequence of a position in the feed; 0 for its beginning.
func position(p thread.Pos) (uint64, error) {
	if p == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(string(p), 10, 64)
	if err != nil {
		return 0, mess.Errorf(mess.Invalid, "position: %.40q is none of this store's feed; leave it out to start again", p)
	}
	return n, nil
}
