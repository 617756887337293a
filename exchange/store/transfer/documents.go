package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/messkit/messkit/exchange/thread"
)

// documents makes the documents of the target those of the source.
func (c *copying) documents(ctx context.Context) error {
	for _, n := range c.from.names() {
		want, has := withPosition(n, c.from.docs[n].doc, c.position), c.to.docs[n]
		if bytes.Equal(want, has.doc) && has.doc != nil {
			continue
		}
		if err := c.putDocument(ctx, n, want, has.rev); err != nil {
			return err
		}
	}
	for _, n := range c.to.names() {
		if _, ok := c.from.docs[n]; !ok {
			if err := c.putDocument(ctx, n, nil, c.to.docs[n].rev); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *copying) putDocument(ctx context.Context, n name, doc []byte, after thread.Rev) error {
	rev, err := c.to.store.Put(ctx, n.kind, n.id, doc, after)
	if err != nil {
		return fmt.Errorf("target: the document %s/%s: %w", n.kind, n.id, err)
	}
	if doc == nil {
		delete(c.to.docs, n)
	} else {
		c.to.docs[n] = document{doc, rev}
	}
	return nil
}

// position returns the position in the feed of the target from which a reader misses no change that it
// has not seen in the source. It may see some changes again.
func (c *copying) position(p thread.Pos) thread.Pos {
	end, first := thread.Pos("0"), thread.Pos("")
	for ref, is := range c.from.threads {
		at := c.to.threads[ref]
		if end.Before(at.last) {
			end = at.last
		}
		if p.Before(is.last) && (first == "" || at.first.Before(first)) {
			first = at.first
		}
	}
	if first == "" {
		return end // the reader has seen everything
	}
	n, ok := new(big.Int).SetString(string(first), 10)
	if !ok || n.Sign() <= 0 {
		return "0"
	}
	return thread.Pos(n.Sub(n, big.NewInt(1)).String())
}

// channelKinds begin the kinds of the documents of channels, and inboxID names the document of an inbox
// that is a position alone.
const (
	channelKinds = "door-"
	inboxID      = "inbox"
)

// withPosition returns a document of a channel with another position in the feed, and every other
// document unchanged. A position is the text of the document inbox, or the field pos of an object.
func withPosition(n name, doc []byte, change func(thread.Pos) thread.Pos) []byte {
	if !strings.HasPrefix(n.kind, channelKinds) {
		return doc
	}
	var alone thread.Pos
	if n.id == inboxID && json.Unmarshal(doc, &alone) == nil && isPosition(alone) {
		return fmt.Appendf(nil, "%q", change(alone))
	}
	var fields struct {
		Pos json.RawMessage `json:"pos"`
	}
	if json.Unmarshal(doc, &fields) != nil || json.Unmarshal(fields.Pos, &alone) != nil || !isPosition(alone) {
		return doc
	}
	return replaceField(doc, fields.Pos, fmt.Appendf(nil, "%q", change(alone)))
}

func isPosition(p thread.Pos) bool { return p != "" && strings.Trim(string(p), "0123456789") == "" }

// replaceField replaces the value of the field pos of a JSON object. All other bytes stay.
func replaceField(doc, was, is []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(doc))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return doc
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return doc
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return doc
		}
		if end := int(d.InputOffset()); key == "pos" && bytes.Equal(value, was) {
			return bytes.Join([][]byte{doc[:end-len(value)], is, doc[end:]}, nil)
		}
	}
	return doc
}
