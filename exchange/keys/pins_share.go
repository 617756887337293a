package keys

import (
	"context"

	"github.com/messkit/messkit/mess/receipt"
)

// pinsChannel is the name under which the exchanges store pinned receipt keys by executor. They are
// public. The file of each exchange has a copy.
const pinsChannel = "receipt-keys"

// sharePins has all exchanges with the same documents use the same receipt keys. The documents get the
// keys of the file that they do not have; the others come into the file.
func (k *Keys) sharePins(ctx context.Context) error {
	k.docs.FollowChannelState(pinsChannel, func(executor string, doc []byte) { k.copyPin(executor, string(doc)) })
	own, err := k.pins.read(k.dir)
	if err != nil {
		return err
	}
	stored := k.docs.ChannelState(pinsChannel)
	for executor, key := range own {
		if stored[executor] == nil {
			if _, err := k.storePin(ctx, executor, key, false); err != nil {
				return err
			}
		}
	}
	differs := false
	for executor, key := range stored {
		differs = differs || own[executor] != string(key)
	}
	if differs {
		err = k.changePins(func(next map[string]string) error {
			for executor, key := range stored {
				if isReceiptKey(string(key)) {
					next[executor] = string(key)
				}
			}
			return nil
		})
	}
	k.pins.mu.Lock()
	defer k.pins.mu.Unlock()
	k.pins.edits = map[string]string{}
	return err
}

func isReceiptKey(key string) bool {
	_, err := receipt.PublicKey(key)
	return err == nil
}

// pinShared works like Pin. A key that somebody has written into the file of this exchange replaces the
// shared one.
func (k *Keys) pinShared(executor, key string) (first string, err error) {
	if _, err := k.pins.read(k.dir); err != nil {
		return "", err
	}
	k.pins.mu.Lock()
	edit, isEdit := k.pins.edits[executor]
	delete(k.pins.edits, executor)
	k.pins.mu.Unlock()
	if isEdit {
		key = edit
	} else if first := string(k.docs.ChannelDocument(pinsChannel, executor)); isReceiptKey(first) {
		return first, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), shareTimeout)
	defer cancel()
	if first, err = k.storePin(ctx, executor, key, isEdit); err != nil {
		return "", err
	}
	k.copyPin(executor, first)
	return first, nil
}

// storePin stores a receipt key, and returns the one that counts. An earlier one counts unless replace
// is true.
func (k *Keys) storePin(ctx context.Context, executor, key string, replace bool) (first string, err error) {
	err = k.docs.ChangeChannelState(ctx, pinsChannel, executor, func(doc []byte) ([]byte, error) {
		if first = key; !replace && isReceiptKey(string(doc)) {
			first = string(doc)
			return doc, nil
		}
		return []byte(key), nil
	})
	return first, err
}

// copyPin writes a shared key into the file. Without the copy the exchange works; the next change writes
// it.
func (k *Keys) copyPin(executor, key string) {
	if !isReceiptKey(key) {
		return
	}
	if known, err := k.pins.read(k.dir); err == nil && known[executor] == key {
		return
	}
	err := k.changePins(func(next map[string]string) error { next[executor] = key; return nil })
	if err != nil {
		k.log.Warn("the receipt key of an executor is not in "+PinsFile+", so messkit thread verify does not know it", "executor", executor, "err", err)
	}
}
