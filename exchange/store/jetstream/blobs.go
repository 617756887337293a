package jetstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
)

// Stage stores bytes in the object store. Their name is their SHA-256.
func (s *Store) Stage(ctx context.Context, data io.Reader, most int64) (thread.Staged, error) {
	b, err := io.ReadAll(io.LimitReader(data, most+1))
	if err != nil {
		return thread.Staged{}, err
	}
	if int64(len(b)) > most {
		return thread.Staged{}, thread.ErrTooLarge
	}
	sum, err := s.putBlob(ctx, b)
	return thread.Staged{SHA256: sum, Size: int64(len(b))}, err
}

// Blob opens staged bytes.
func (s *Store) Blob(ctx context.Context, sum string) (io.ReadSeekCloser, error) {
	b, err := s.getBlob(ctx, sum)
	if err != nil {
		return nil, err
	}
	return closer{bytes.NewReader(b)}, nil
}

type closer struct{ *bytes.Reader }

func (closer) Close() error { return nil }

// putBlob stores bytes, and returns their name. If the object store has them, it writes them again when they
// are so old that Clean could remove them before a step names them.
func (s *Store) putBlob(ctx context.Context, data []byte) (string, error) {
	h := sha256.Sum256(data)
	sum := hex.EncodeToString(h[:])
	is, err := s.blobInfo(ctx, sum)
	if err != nil || is != nil && time.Since(is.ModTime) < s.freshFor {
		return sum, err
	}
	if s.cfg.Domain != "" {
		return "", ErrCopy
	}
	return sum, s.putObject(ctx, sum, data)
}

// putObject stores an object.
func (s *Store) putObject(ctx context.Context, name string, data []byte) error {
	_, err := retryRead(ctx, s, func(context.Context) (*jetstream.ObjectInfo, error) {
		ctx, cancel := context.WithTimeout(ctx, writeTimeout) // a large object takes longer than a message
		defer cancel()
		return s.blobs.PutBytes(ctx, name, data)
	})
	return err
}

// getBlob reads bytes by their name, and checks them.
func (s *Store) getBlob(ctx context.Context, sum string) ([]byte, error) {
	if !isSum(sum) {
		return nil, thread.ErrNoBlob
	}
	data, err := s.getObject(ctx, sum)
	if h := sha256.Sum256(data); err == nil && hex.EncodeToString(h[:]) != sum {
		return nil, fmt.Errorf("attachment %s: %w", sum, errOtherBytes)
	}
	return data, err
}

// getObject reads an object, or returns thread.ErrNoBlob.
func (s *Store) getObject(ctx context.Context, name string) ([]byte, error) {
	limit := blobAttempt
	data, err := retryRead(ctx, s, func(context.Context) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if limit *= 2; limit > 2*blobAttempt {
			limit = writeTimeout
		}
		return s.blobs.GetBytes(ctx, name)
	})
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, thread.ErrNoBlob
	}
	return data, err
}

// errOtherBytes is the error for an object whose bytes do not have its digest.
var errOtherBytes = errors.New("the object store has other bytes; restore it from a backup")

// blobAttempt limits the first attempt to read an object. The client library can wait for the consumer of
// a server that has failed. Later attempts have more time, for large objects over slow networks.
const blobAttempt = 3 * time.Second

// hasBlob reports whether the object store has an object.
func (s *Store) hasBlob(ctx context.Context, sum string) (bool, error) {
	if !isSum(sum) {
		return false, nil
	}
	is, err := s.blobInfo(ctx, sum)
	return is != nil, err
}

// blobInfo returns what the object store says about an object; nil if it does not have the object.
func (s *Store) blobInfo(ctx context.Context, sum string) (*jetstream.ObjectInfo, error) {
	is, err := retryRead(ctx, s, func(ctx context.Context) (*jetstream.ObjectInfo, error) { return s.blobs.GetInfo(ctx, sum) })
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, nil
	}
	return is, err
}

// isSum reports whether s is a SHA-256 in hexadecimal.
func isSum(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// readTimeout is the time limit of all attempts of a read.
const readTimeout = 20 * time.Second

// retryRead repeats a read while the servers elect a leader.
func retryRead[T any](ctx context.Context, s *Store, read func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	pause := wait.Backoff{First: 10 * time.Millisecond, Last: 500 * time.Millisecond}
	for {
		try, done := context.WithTimeout(ctx, attemptTimeout)
		value, err := read(try)
		done()
		s.read(err)
		if err == nil || errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrObjectNotFound) || !isTemporary(err) || !wait.For(ctx, pause.Next()) {
			return value, err
		}
	}
}
