package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// publishBatch publishes the keys and the message as one atomic batch: the stream stores all or
// nothing. It returns the sequence of the message, which is the last one.
func (w *write) publishBatch(ctx context.Context) (uint64, error) {
	var batch []*nats.Msg
	for _, k := range w.keys {
		batch = append(batch, expecting(w.s.keySubject(k), 0, []byte(w.ref)))
	}
	last := w.message()
	batch = append(batch, last)
	id := rand.Text() // each attempt is a batch of its own
	for i, m := range batch {
		m.Header.Set("Nats-Batch-Id", id)
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		if m == last {
			break
		}
		if err := w.s.nc.PublishMsg(m); err != nil {
			return 0, err
		}
	}
	last.Header.Set("Nats-Batch-Commit", "1")
	answer, err := w.s.nc.RequestMsgWithContext(ctx, last)
	if err != nil {
		return 0, err
	}
	return batchAnswer(answer.Data)
}

// batchAnswer reads the answer of the stream to a batch.
func batchAnswer(data []byte) (uint64, error) {
	var ack struct {
		Sequence uint64              `json:"seq"`
		Error    *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(data, &ack); err != nil {
		return 0, fmt.Errorf("the answer of the stream: %w", err)
	}
	if ack.Error != nil {
		return 0, ack.Error
	}
	if ack.Sequence == 0 {
		return 0, fmt.Errorf("the answer of the stream has no sequence: %.80q", data)
	}
	return ack.Sequence, nil
}
