package agent_test

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/mess"
)

// connection is the connection to the exchange. It can break, and it can deliver twice.
type connection struct {
	to           agent.Exchange
	duplicate    bool
	dropIncoming bool // it loses deliveries
	sync         bool // files become data URIs, as with a server that stores none

	mu         sync.Mutex
	cut        bool
	before     func(mess.Message) error // called before the exchange gets a message
	after      func(mess.Message) error // called after the exchange has a message
	attach     func() error             // called before and after the exchange takes an attachment
	disconnect context.CancelFunc
	handle     func(mess.Message)
}

// deliver gives the agent a message that the exchange does not know.
func (l *connection) deliver(m mess.Message) {
	l.mu.Lock()
	handle := l.handle
	l.mu.Unlock()
	handle(m)
}

// setCut breaks all connections, and blocks new ones until its next call.
func (l *connection) setCut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	if cut && l.disconnect != nil {
		l.disconnect()
	}
}

func (l *connection) set(f func(*connection)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
}

func (l *connection) get() (cut bool, before, after func(mess.Message) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut, l.before, l.after
}

func (l *connection) Send(ctx context.Context, m mess.Message) (mess.Message, error) {
	cut, before, after := l.get()
	if cut {
		return mess.Message{}, mess.Errorf(mess.Unavailable, "the line is cut")
	}
	if before != nil {
		if err := before(m); err != nil {
			return mess.Message{}, err
		}
	}
	answer, err := l.to.Send(ctx, m)
	if err == nil && after != nil {
		if err := after(m); err != nil {
			return mess.Message{}, err
		}
	}
	return answer, err
}

func (l *connection) Receive(ctx context.Context, handle func(mess.Message)) error {
	lost := mess.Errorf(mess.Unavailable, "the line is cut")
	lctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.set(func(l *connection) { l.disconnect, l.handle = cancel, handle })
	if cut, _, _ := l.get(); cut {
		return lost
	}
	err := l.to.Receive(lctx, func(m mess.Message) {
		if l.closed() {
			return
		}
		handle(m)
		if l.duplicate {
			handle(m)
		}
	})
	if err == nil && ctx.Err() == nil {
		return lost
	}
	return err
}

// closed reports whether delivery is impossible.
func (l *connection) closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut || l.dropIncoming
}

func (l *connection) Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error) {
	if l.sync { // as a server that stores no files
		all, err := io.ReadAll(data)
		all = append([]byte("\xff\xd8\xff\xe0"), all...) // the first bytes of an image
		return mess.Media{URI: mess.DataURI(mime, all), MIME: mime, Name: name}, err
	}
	l.mu.Lock()
	cut, hook := l.cut, l.attach
	l.mu.Unlock()
	if cut {
		return mess.Media{}, mess.Errorf(mess.Unavailable, "the line is cut")
	}
	if hook == nil {
		return l.to.Attach(ctx, ref, name, mime, data)
	}
	if err := hook(); err != nil {
		return mess.Media{}, err
	}
	m, err := l.to.Attach(ctx, ref, name, mime, data)
	return m, errors.Join(err, hook())
}

// hasStatus reports whether a message contains a status.
func hasStatus(m mess.Message, code mess.Code) bool {
	if len(m.Items) == 0 {
		return false
	}
	s, ok := m.Items[0].(*mess.Status)
	return ok && s.Code == code
}
