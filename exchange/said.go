package exchange

import (
	"context"
	"errors"
	"strings"

	"github.com/messkit/messkit/exchange/transition"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// PostExternal takes a message that another program has put into a thread's folder. It
// is judged as if its sender had posted it, as requester and executor, never as
// operator: a file proves nobody. What is refused stays in the thread, as
// evidence of what was said, with an ack that says why.
func (x *Exchange) PostExternal(ctx context.Context, ref string, m mess.Message) error {
	s := saying{ref: ref} // where it lies says what it is about
	if len(m.Re) == 1 && messeaf.ThreadRef(m.Re[0]) == ref {
		s.ref = m.Re[0]
	}
	for _, item := range m.Items {
		own, bare := splitRe(item)
		if len(own) == 1 && strings.HasPrefix(own[0], ref+"/") {
			s.ref = own[0]
		}
		s.items = append(s.items, bare)
	}
	m.Items, m.Re = s.items, mess.Refs{s.ref}
	in := Inbound{Actor: Actor{ID: m.From, Roles: Requester | ExecutorRole}, Channel: "file", Message: m}
	err := x.mayBeSaid(m)
	if err == nil {
		x.markAlive(ctx, in.Actor)
		_, err = x.say(ctx, in, s)
	}
	if r, ok := errors.AsType[*mess.Error](err); ok && !errors.Is(r, mess.Unavailable) {
		x.log.Warn("a message that another program has put into a thread is refused", "ref", ref, "from", m.From, "err", err)
		err = x.noteRefused(ctx, in, s, r.Error())
	}
	return err
}

// mayBeSaid refuses what nobody may say in a thread.
func (x *Exchange) mayBeSaid(m mess.Message) error {
	if m.From == Self {
		return mess.Errorf(mess.Forbidden, "nobody but the exchange itself is called %q", Self)
	}
	if err := m.Validate(); err != nil {
		return mess.Errorf(mess.Invalid, "%v", err)
	}
	return nil
}

// noteRefused keeps what was refused.
func (x *Exchange) noteRefused(ctx context.Context, in Inbound, s saying, why string) error {
	_, err := x.step(ctx, messeaf.ThreadRef(s.ref), func(Envelope) transition.Input {
		i := x.input(in.Actor, in.Channel, in.Message)
		i.Noted = why
		return i
	})
	return err
}
