// Package live shows the live picture of a camera to a viewer. The executor of the camera runs in the
// same process.
//
// A viewing is one thread: the request for a photo, which the executor answers with the first picture,
// under its safety policy and with its receipt. Only after that the live picture begins. A note in
// that thread says how it ended. The executor asks its policy again for each picture.
package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/home"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// Limits of live pictures.
const (
	MaxTime    = 5 * time.Minute // of one viewing; then the viewer asks again
	MaxViewers = 8               // of one exchange
	MaxPicture = 500 << 10       // bytes; a larger picture is left out

	firstWithin = 30 * time.Second // until the first picture
)

// photoVerb is the capability of a viewing.
const photoVerb = "take-photo"

// Viewer gets the pictures of one camera.
type Viewer interface {
	// Next waits for a picture that is newer than the last one.
	Next(ctx context.Context) (data []byte, mime string, err error)
	// Close ends the viewing.
	Close()
}

// Source is the executor in this process.
type Source interface {
	// Has reports whether a camera belongs to the executor.
	Has(executor, device string) bool
	// Watch adds a viewer to a camera.
	Watch(device string) Viewer
}

// PostFunc sends a message of the viewer to the exchange.
type PostFunc func(mess.Message) (mess.Message, error)

// Pictures shows live pictures of one exchange. It is safe for concurrent use.
type Pictures struct {
	x       *exchange.Exchange
	home    *home.Home
	source  Source
	viewers *semaphore.Weighted
}

// New returns the live pictures of an exchange. source is nil if no executor runs in this process.
func New(x *exchange.Exchange, h *home.Home, source Source) *Pictures {
	return &Pictures{x: x, home: h, source: source, viewers: semaphore.NewWeighted(MaxViewers)}
}

// View is one viewing. Stream shows it, and Close ends it.
type View struct {
	Ref string // of its thread

	viewer Viewer
	post   PostFunc
	began  time.Time
	shown  int // pictures
	end    func()
}

// all sees the end of every thread.
var all = exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}

// Begin begins a viewing: it asks for a photo, waits for its thread, and adds a viewer to the camera.
// The error is a *mess.Error, or that of ctx.
func (p *Pictures) Begin(ctx context.Context, actor exchange.Actor, id string, post PostFunc) (*View, error) {
	o, err := p.home.Order(actor, id, photoVerb, mess.Object{{Key: "within", Value: firstWithin.String()}})
	if err != nil {
		return nil, err
	}
	d, err := p.home.Device(id)
	if err != nil {
		return nil, err
	}
	if p.source == nil || !p.source.Has(d.Executor, d.Device) {
		return nil, mess.Errorf(mess.NotFound, "live: the executor %s of the %s runs in another program, so there is no live picture; ask for single pictures with POST devices/{id}/%s", d.Executor, d.Name, photoVerb)
	}
	if !p.viewers.TryAcquire(1) {
		return nil, mess.Errorf(mess.Unavailable, "live: %d viewers watch already; try again when one has closed its page", MaxViewers)
	}
	v := &View{post: post, end: func() { p.viewers.Release(1) }}
	if err := p.askFirst(ctx, v, o); err != nil {
		v.end()
		return nil, err
	}
	v.viewer, v.began = p.source.Watch(d.Device), time.Now()
	return v, nil
}

// askFirst asks for the first picture, and waits until its thread has ended.
func (p *Pictures) askFirst(ctx context.Context, v *View, o *home.Order) error {
	ctx, cancel := context.WithTimeout(ctx, firstWithin)
	defer cancel()
	changed := make(chan struct{}, 1)
	wake := func() { wait.Notify(changed) }
	watch, err := p.x.Subscribe(ctx, all, "", func(exchange.Event) error { wake(); return nil }, wake)
	if err != nil {
		return err
	}
	defer watch.Close()
	answer, err := v.post(mess.Message{Items: []mess.Item{&o.Request}})
	if err != nil {
		return err
	}
	v.Ref = mess.FirstAck(answer).Ref
	p.home.Made(o, v.Ref)
	for {
		e, err := p.x.Envelope(ctx, all, v.Ref)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case e.Status == mess.Completed:
			return nil
		case e.Status.Terminal():
			return mess.Errorf(mess.Conflict, "live: %s", p.home.Reason(context.WithoutCancel(ctx), v.Ref))
		case e.Status == mess.NeedsConfirmation, e.Status == mess.NeedsInput:
			v.cancel()
			return mess.Errorf(mess.Conflict, "live: each picture of this camera needs an answer of a person, so there is no live picture; ask for single pictures")
		}
		select {
		case <-changed:
		case <-ctx.Done():
			v.cancel()
			return mess.Errorf(mess.Unavailable, "live: the first picture has not come within %v; see the task %s", firstWithin, v.Ref)
		}
	}
}

// cancel withdraws the request. The exchange keeps why it could not.
func (v *View) cancel() {
	_, _ = v.post(mess.Message{Re: mess.Refs{v.Ref}, Items: []mess.Item{&mess.Cancel{Re: mess.Refs{v.Ref}}}}) // it may have ended meanwhile
}

// errTime ends a viewing that is long enough.
var errTime = errors.New("the time of one viewing is over")

// Stream calls write with each picture until ctx ends, the executor rejects a picture, the camera fails, or MaxTime
// has passed. While write waits for a slow viewer, Stream leaves pictures out.
func (v *View) Stream(ctx context.Context, write func(data []byte, mime string) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, MaxTime, errTime)
	defer cancel()
	for {
		data, mime, err := v.viewer.Next(ctx)
		if err != nil {
			return err
		}
		if len(data) > MaxPicture {
			continue
		}
		if err := write(data, mime); err != nil {
			return context.Canceled // the viewer has gone
		}
		v.shown++
	}
}

// Close ends the viewing, and notes in its thread how it was. why is the error of Stream.
func (v *View) Close(why error) error {
	defer v.end()
	v.viewer.Close()
	reason := "the viewer has left"
	if why != nil && !errors.Is(why, context.Canceled) {
		reason = why.Error()
	}
	text := fmt.Sprintf("live picture from %s to %s, %d pictures; it ended: %s", mess.TimeOf(v.began.UTC()), mess.TimeOf(time.Now().UTC()), v.shown, reason)
	_, err := v.post(mess.Message{Re: mess.Refs{v.Ref}, Items: []mess.Item{&mess.Other{Type: "note", Value: mess.Object{{Key: "text", Value: text}}}}})
	return err
}
