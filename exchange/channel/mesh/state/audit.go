package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/messkit/messkit/internal/durable"
)

// Line is a line of the audit log (MESH 1.0 section 10). Other tools search for
// "correlationId":"..." without a space.
type Line struct {
	TS             string          `json:"ts"`
	From           string          `json:"from"`
	To             string          `json:"to"`
	Type           string          `json:"type"`
	ID             string          `json:"id"`
	Subject        string          `json:"subject"`
	Body           string          `json:"body,omitempty"`
	Status         string          `json:"status"`
	CorrelationID  string          `json:"correlationId"`
	ConversationID string          `json:"conversationId,omitempty"`
	ReplyContext   string          `json:"replyContext,omitempty"`
	Signed         bool            `json:"signed"`
	Session        json.RawMessage `json:"session,omitempty"`
	Ref            string          `json:"ref,omitempty"`    // ref of the thread, "" for none
	Detail         string          `json:"detail,omitempty"` // reason
	Metadata       json.RawMessage `json:"metadata,omitempty"`
}

type auditLog struct {
	name string
	mu   sync.Mutex
	open bool
}

// maxAudit is the size in bytes at which the log starts anew. The store keeps the previous log.
const maxAudit = 16 << 20

// Audit writes a line. A full disk does not stop the agent; the store logs the error.
func (s *Store) Audit(l Line) {
	l.TS = s.now().UTC().Format("2006-01-02T15:04:05.000Z")
	err := s.audit.write(l)
	if s.failing.Store(err != nil); err != nil {
		s.log.Error("mesh: cannot write the audit log", "err", err)
	}
}

func (a *auditLog) write(l Line) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f, err := durable.Open(a.name, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	text, err := a.begin(f, b.Bytes())
	if err == nil {
		_, err = f.Write(text)
	}
	info, err2 := f.Stat()
	if err = errors.Join(err, err2, f.Sync(), f.Close()); err != nil || info.Size() < maxAudit {
		return err
	}
	a.open = false
	return os.Rename(a.name, a.name+".1")
}

// begin puts a line break before the first line of a run, because a power failure can leave half a
// line.
func (a *auditLog) begin(f *os.File, text []byte) ([]byte, error) {
	if a.open {
		return text, nil
	}
	a.open = true
	r, err := os.Open(f.Name())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	last := make([]byte, 1)
	if _, err := r.Seek(-1, io.SeekEnd); err != nil {
		return text, nil // the file is empty
	}
	if _, err := io.ReadFull(r, last); err == nil && last[0] != '\n' {
		text = append([]byte{'\n'}, text...)
	}
	return text, nil
}

// maxTail is how many bytes at the end of the log Tail reads.
const maxTail = 4 << 20

// Tail returns the last lines of the audit log for which keep returns true, at most n, the oldest
// first. It includes the previous log if the current one has just started.
func (s *Store) Tail(n int, keep func(Line) bool) ([]Line, error) {
	s.audit.mu.Lock()
	defer s.audit.mu.Unlock()
	lines, err := tail(s.audit.name, keep)
	if err == nil && len(lines) < n {
		var before []Line
		before, err = tail(s.audit.name+".1", keep)
		lines = append(before, lines...)
	}
	return lines[max(0, len(lines)-n):], err
}

// tail returns the lines at the end of a log, none if the file does not exist.
func tail(name string, keep func(Line) bool) ([]Line, error) {
	f, err := durable.Open(name, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, err = f.Seek(max(0, size-maxTail), io.SeekStart)
		if err != nil {
			return nil, err
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxTail))
	if err != nil {
		return nil, err
	}
	var lines []Line
	for one := range bytes.SplitSeq(data, []byte{'\n'}) {
		var l Line
		if json.Unmarshal(one, &l) == nil && keep(l) { // skip half a line
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// Health is the result of the last health check of a peer.
type Health struct {
	IP                  string    `json:"ip"`
	Port                int       `json:"port"`
	LastProbe           time.Time `json:"lastProbe"`
	HTTPCode            string    `json:"httpCode"` // 000: no answer
	LatencyMS           int64     `json:"latencyMs"`
	Reachable           bool      `json:"reachable"`
	ConsecutiveFailures int       `json:"consecutiveFailures"`
}

// Probed stores the result of a health check.
func (s *Store) Probed(peer string, h Health) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.LastProbe = *stamped(s.now()); !h.Reachable {
		h.ConsecutiveFailures = s.health[peer].ConsecutiveFailures + 1
	}
	s.health[peer] = h
	if err := s.write(healthFile, s.health); err != nil {
		s.log.Warn("mesh: cannot store the health of a peer", "err", err)
	}
}

// Health returns the last health check of each peer.
func (s *Store) Health() map[string]Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.health)
}
