// Package once carries out a repeated request once. A browser sends a POST again by itself when a
// connection that it has kept ends before the answer. The repeated request has the same Idempotency-Key,
// and gets the answer of the first one.
package once

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	keepTime   = 10 * time.Minute // for which an answer is kept
	maxAnswers = 32               // of one actor; the oldest one is forgotten first
	maxBody    = 64 << 10         // bytes; a larger answer is not kept
)

// ErrOther says that a key belongs to another request.
var ErrOther = errors.New("the key belongs to another request")

// headers are those of an answer that a repeated request gets, too.
var headers = []string{"Content-Type", "Location"}

// Answers has the last answers of each actor. They are in memory alone: after a restart a repeated request
// is carried out again. The zero value is empty. It is safe for concurrent use.
type Answers struct {
	mu sync.Mutex
	of map[string][]*answer // by actor, the oldest first
}

// answer is the answer to one request. The fields after done are set before done closes.
type answer struct {
	key     string
	request [sha256.Size]byte
	at      time.Time

	done   chan struct{}
	code   int // 0: the request has failed, or its answer is too large
	header http.Header
	body   []byte
}

// Serve answers a request of an actor with a key. It calls do, unless the same request has succeeded with
// this key: then it writes that answer again. While the first request runs, a repeated one waits for it. A
// request that failed is carried out again. request is the content that a repeated request has, too. The
// error is that of do or ctx, or ErrOther.
func (a *Answers) Serve(ctx context.Context, w http.ResponseWriter, actor, key string, request []byte, do func(http.ResponseWriter) error) error {
	sum := sha256.Sum256(request)
	for {
		one, isFirst := a.begin(actor, key, sum)
		if one.request != sum {
			return ErrOther
		}
		if isFirst {
			return a.carryOut(w, actor, one, do)
		}
		select {
		case <-one.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if one.code != 0 {
			for name, values := range one.header {
				w.Header()[name] = values
			}
			w.WriteHeader(one.code)
			_, err := w.Write(one.body)
			return err
		}
	}
}

// begin returns the answer with a key, and makes it if there is none.
func (a *Answers) begin(actor, key string, sum [sha256.Size]byte) (one *answer, isFirst bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for who, list := range a.of {
		if list = slices.DeleteFunc(list, func(one *answer) bool { return now.Sub(one.at) > keepTime }); len(list) == 0 {
			delete(a.of, who)
		} else {
			a.of[who] = list
		}
	}
	for _, one := range a.of[actor] {
		if one.key == key {
			return one, false
		}
	}
	one = &answer{key: key, request: sum, at: now, done: make(chan struct{})}
	if a.of == nil {
		a.of = map[string][]*answer{}
	}
	list := append(a.of[actor], one)
	a.of[actor] = list[max(0, len(list)-maxAnswers):]
	return one, true
}

// carryOut calls do, and keeps its answer if it has succeeded.
func (a *Answers) carryOut(w http.ResponseWriter, actor string, one *answer, do func(http.ResponseWriter) error) error {
	rec := &recorder{ResponseWriter: w}
	kept := false
	defer func() { // also after a panic
		if !kept {
			a.mu.Lock()
			a.of[actor] = slices.DeleteFunc(a.of[actor], func(other *answer) bool { return other == one })
			a.mu.Unlock()
		}
		close(one.done)
	}()
	err := do(rec)
	if kept = err == nil && rec.code/100 == 2 && rec.body.Len() <= maxBody; kept {
		one.code, one.header, one.body = rec.code, rec.header, rec.body.Bytes()
	}
	return err
}

// recorder records an answer while it writes it.
type recorder struct {
	http.ResponseWriter
	code   int
	header http.Header
	body   bytes.Buffer
}

// Unwrap implements the interface of http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(code int) {
	if r.code == 0 {
		r.code, r.header = code, http.Header{}
		for _, name := range headers {
			if values := r.Header().Values(name); len(values) > 0 {
				r.header[name] = slices.Clone(values)
			}
		}
	}
	r.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	if r.code == 0 {
		r.WriteHeader(http.StatusOK)
	}
	if r.body.Len() <= maxBody {
		r.body.Write(p)
	}
	return r.ResponseWriter.Write(p)
}
