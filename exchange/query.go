package exchange

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/index"
	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// answerQueries answers queries (MESS 1.0 sections 7.3 and 8.6).
func (x *Exchange) answerQueries(ctx context.Context, in Inbound, p sortedItems) ([]mess.Item, error) {
	var items []mess.Item
	for _, q := range p.queries {
		content, err := x.answerTo(ctx, in.Actor, q)
		if err != nil {
			return nil, err
		}
		re := mess.Last
		if q.ID != "" {
			re = q.ID
		}
		items = append(items, &mess.Response{Re: mess.Refs{re}, Executor: Self, Content: []mess.Entry{{Type: "structured", Value: content}}})
	}
	return items, nil
}

func (x *Exchange) answerTo(ctx context.Context, actor Actor, q *mess.Query) (mess.Object, error) {
	if actor.IsGuest() {
		return nil, mess.Errorf(mess.Forbidden, "query: a guest may not ask the exchange")
	}
	f := mess.Filter{}
	if q.Filter != nil {
		f = *q.Filter
	}
	switch q.Type {
	case "status", "":
		return x.statusOf(ctx, actor, f)
	case "capabilities":
		return mess.Object{{Key: "capabilities", Value: x.capabilityList(f.Tags)}}, nil
	case "executors":
		return mess.Object{{Key: "executors", Value: x.executorList(f.Executor)}}, nil
	}
	return nil, mess.Errorf(mess.Invalid, "query.type: unknown type %q; use status, capabilities or executors", q.Type)
}

// statusOf lists the threads that the filter names or selects. Without a filter it lists the open
// threads.
func (x *Exchange) statusOf(ctx context.Context, actor Actor, f mess.Filter) (mess.Object, error) {
	var threads []any
	if len(f.Re) > 0 {
		for _, re := range f.Re {
			t, err := x.Thread(ctx, actor, re)
			if err != nil {
				return nil, err
			}
			threads = append(threads, t.Summary())
		}
		return mess.Object{{Key: "requests", Value: threads}}, nil
	}
	filter := Filter{Status: f.Status, Executor: f.Executor, Limit: 1000}
	if f.Since != "" {
		filter.Since, _ = f.Since.Time()
	}
	if len(f.Status) == 0 && f.Executor == "" && f.Since == "" {
		filter.Status = openCodes
	}
	page, err := x.List(ctx, actor, filter)
	if err != nil {
		return nil, err
	}
	for _, e := range page.Threads {
		threads = append(threads, e.Summary())
	}
	return mess.Object{{Key: "requests", Value: threads}}, nil
}

// OpenCodes returns the statuses that are not terminal.
func OpenCodes() []mess.Code { return slices.Clone(openCodes) }

var openCodes = []mess.Code{
	mess.Pending, mess.Claimed, mess.InProgress, mess.Waiting, mess.Held, mess.Retrying, mess.NeedsInput, mess.NeedsConfirmation,
}

// Capabilities lists the capabilities of all executors and of the catalog, with their descriptions.
// The catalog takes precedence over the executors, and the first executor over the others. With
// tags, it lists those that have all of them.
func (x *Exchange) Capabilities(tags []string) []Definition {
	known := map[string]Definition{}
	for _, d := range x.cfg.Catalog {
		known[d.ID] = d
	}
	for _, e := range x.registry.Snapshot().Table.All() {
		for _, c := range e.Capabilities {
			if d := known[c.ID]; d.Description == "" && d.Tags == nil {
				description, tags := routing.Describe(c)
				known[c.ID] = Definition{ID: c.ID, Description: description, Tags: tags}
			}
		}
	}
	var list []Definition
	for _, d := range known {
		if !slices.ContainsFunc(tags, func(t string) bool { return !slices.Contains(d.Tags, t) }) {
			list = append(list, d)
		}
	}
	order.By(list, func(a, b Definition) int { return strings.Compare(a.ID, b.ID) })
	return list
}

func (x *Exchange) capabilityList(tags []string) []any {
	var list []any
	for _, d := range x.Capabilities(tags) {
		o := mess.Object{{Key: "id", Value: d.ID}}
		if d.Description != "" {
			o = append(o, mess.Field{Key: "description", Value: d.Description})
		}
		if len(d.Tags) > 0 {
			o = append(o, mess.Field{Key: "tags", Value: d.Tags})
		}
		list = append(list, o)
	}
	return list
}

func (x *Exchange) executorList(id string) []any {
	var list []any
	var all []ExecutorInfo
	if e, ok := x.Executor(id); ok {
		all = append(all, e)
	} else if id == "" {
		all = x.Executors()
	}
	for _, e := range all {
		var caps []any
		for _, c := range e.Capabilities {
			if c.Meta == nil {
				caps = append(caps, c.ID)
			} else {
				caps = append(caps, mess.Object{{Key: c.ID, Value: c.Meta}})
			}
		}
		o := mess.Object{{Key: "id", Value: e.ID}}
		if e.Name != "" {
			o = append(o, mess.Field{Key: "name", Value: e.Name})
		}
		o = append(o, mess.Field{Key: "capabilities", Value: caps}, mess.Field{Key: "availability", Value: string(cmp.Or(e.Availability, mess.Always))})
		if e.Schedule != "" {
			o = append(o, mess.Field{Key: "schedule", Value: e.Schedule})
		}
		list = append(list, append(o,
			mess.Field{Key: "live", Value: e.Live},
			mess.Field{Key: "last_seen", Value: string(mess.TimeOf(e.LastSeen))}))
	}
	return list
}

// OpenByStatus returns the number of open threads, by status.
func (x *Exchange) OpenByStatus() map[mess.Code]int {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	return maps.Clone(x.open.count)
}

// subjectsWait is the time that a list waits for the subjects of threads of an earlier release. The
// exchange reads the few of a home in an instant, and a million in minutes.
const subjectsWait = 5 * time.Second

// List returns the threads that the actor may see and the filter selects, the newest change first.
// A list by capability or device waits up to 5 s until the exchange has read those of threads that
// ended under an earlier release. The error is that of the cursor, or a *mess.Error.
func (x *Exchange) List(ctx context.Context, actor Actor, f Filter) (Page, error) {
	f.Status = storedCodes(f.Status)
	if f.Device != "" && !thread.IsDeviceID(f.Device) {
		return Page{}, mess.Errorf(mess.Invalid, "device: %.60q is not the id of a device; write EXECUTOR:DEVICE, as messkit devices shows it", f.Device)
	}
	if field := f.Subject(); field != "" && mayHaveEnded(f.Status) && !x.waitForSubjects(ctx) {
		return Page{}, mess.Errorf(mess.Unavailable, "%s: the exchange still reads the capabilities and devices of threads that ended under an earlier release; try again in a minute, or ask for open statuses only", field)
	}
	q := index.Query{Filter: f}
	if actor.Roles&(Observer|Operator) == 0 {
		q.Party = actor.ID
		q.Capabilities, q.Offers = x.offersOf(actor)
	}
	refs, cursor, err := x.threads.Page(q)
	if err != nil {
		return Page{}, err
	}
	page := Page{Cursor: cursor}
	for _, ref := range refs {
		e, err := x.readEnvelope(ctx, ref)
		if errors.Is(err, ErrNoThread) {
			continue // another program has removed it meanwhile
		}
		if err != nil {
			return Page{}, x.storeError(err)
		}
		page.Threads = append(page.Threads, e)
	}
	return x.waiting(ctx, actor, f, page)
}

// hasSubjects reports whether the index has the subjects of all threads that have ended.
func (x *Exchange) hasSubjects() bool {
	select {
	case <-x.subjectsRead:
		return true
	default:
		return false
	}
}

// waitForSubjects waits until the index has the subjects of all threads that have ended,
// and reports false if that takes longer than subjectsWait.
func (x *Exchange) waitForSubjects(ctx context.Context) bool {
	return x.hasSubjects() || wait.ForSignal(ctx, subjectsWait, x.subjectsRead) && x.hasSubjects()
}

// mayHaveEnded reports whether a filter with these statuses selects threads that have ended.
func mayHaveEnded(codes []mess.Code) bool {
	return len(codes) == 0 || slices.ContainsFunc(codes, mess.Code.Terminal)
}

// readSubjects adds the subjects to the index that the feed of the store lacks.
func (x *Exchange) readSubjects(ctx context.Context) {
	if x.hasSubjects() {
		return
	}
	began := x.now()
	err := x.store.(thread.SubjectReader).ReadSubjects(ctx, x.threads.AddSubjects)
	if ctx.Err() != nil {
		return
	}
	close(x.subjectsRead)
	if err != nil {
		x.log.Warn("cannot save the capabilities and devices of threads that ended under an earlier release; the next start reads them again", "err", err)
		return
	}
	x.log.Info("read the capabilities and devices of threads that ended under an earlier release", "took", x.now().Sub(began))
}

// offersOf returns the capabilities of an executor, and a function that reports whether it may take
// a pending thread. Both are nil for other actors.
func (x *Exchange) offersOf(actor Actor) (capabilities []string, may func(ref string) bool) {
	ex := x.registry.Snapshot().Executor(actor.ID)
	if ex == nil || ex.Deregistered || !actor.Has(ExecutorRole) {
		return nil, nil
	}
	for _, c := range ex.Capabilities {
		if !slices.Contains(capabilities, c.ID) {
			capabilities = append(capabilities, c.ID)
		}
	}
	return capabilities, func(ref string) bool {
		l := x.open.find(ref)
		return l != nil && x.couldTake(actor, x.open.envelope(l))
	}
}

// storedCodes translates the statuses of a filter to those of envelopes: received is pending there.
func storedCodes(codes []mess.Code) []mess.Code {
	codes = slices.Clone(codes)
	for i, c := range codes {
		if c == mess.Received {
			codes[i] = mess.Pending
		}
	}
	return codes
}

// Thread returns a thread that the actor may see, by any name that resolve knows. The error is a
// *mess.Error; a hidden thread is NotFound.
func (x *Exchange) Thread(ctx context.Context, actor Actor, name string) (Thread, error) {
	ref, err := x.resolve(ctx, actor, name)
	if err != nil {
		return x.find(ctx, actor, name, err)
	}
	t, err := x.read(ctx, ref)
	if errors.Is(err, ErrNoThread) || err == nil && !x.MaySee(actor, t.Envelope) {
		return Thread{}, errNoThread(name)
	}
	if err != nil {
		return Thread{}, x.storeError(err)
	}
	return t, nil
}

// Envelope returns the envelope of a thread that the actor may see. It reads the store only if the
// thread has ended. The error is a *mess.Error.
func (x *Exchange) Envelope(ctx context.Context, actor Actor, name string) (Envelope, error) {
	ref, err := x.resolve(ctx, actor, name)
	if err != nil {
		t, err := x.find(ctx, actor, name, err)
		return t.Envelope, err
	}
	l, err := x.load(ctx, ref)
	if r, ok := errors.AsType[*mess.Error](err); ok && r.Code != mess.NotFound {
		return Envelope{}, err
	}
	if err == nil {
		if e := x.open.envelope(l); x.MaySee(actor, e) {
			return e, nil
		}
	}
	return Envelope{}, errNoThread(name)
}

// resolve finds the thread that a sender names. The name is the ref of the thread or of one of its
// messages, a client id, or "last" (MESS 1.0 section 1.3).
func (x *Exchange) resolve(ctx context.Context, actor Actor, name string) (string, error) {
	if name == mess.Last {
		return x.lastRequest(actor)
	}
	ref := messeaf.ThreadRef(name)
	if x.open.find(ref) != nil {
		return ref, nil
	}
	if own, err := x.store.Lookup(ctx, thread.Key{Owner: actor.ID, Name: name}); err == nil {
		return own, nil
	} else if !errors.Is(err, ErrNoThread) {
		return "", x.storeError(err)
	}
	if x.threads.Status(ref) != "" {
		return ref, nil
	}
	if _, err := x.read(ctx, ref); err == nil { // the index does not have it any more, or not yet
		return ref, nil
	} else if !errors.Is(err, ErrNoThread) {
		return "", x.storeError(err)
	}
	if held, ok := x.open.heldAs(actor.ID, name); ok {
		return held, nil
	}
	if offered := x.offeredAs(actor, name); offered != "" {
		return offered, nil
	}
	if suggested, ok := x.open.suggestedAs(actor, name); ok {
		return suggested, nil
	}
	return "", errNoThread(name)
}

// offeredAs finds the only pending thread with a client id that an executor may claim (MESS 1.0
// section 4.4: "re: get-onions, code: claimed"). It returns "" for none or several.
func (x *Exchange) offeredAs(actor Actor, clientID string) (ref string) {
	for _, e := range x.open.pendingAs(clientID) {
		switch {
		case !x.couldTake(actor, e):
		case ref != "":
			return ""
		default:
			ref = e.Ref
		}
	}
	return ref
}

// lastRequest returns the most recent request of an actor.
func (x *Exchange) lastRequest(actor Actor) (string, error) {
	ref := x.threads.Last(actor.ID)
	if ref == "" {
		return "", mess.Errorf(mess.NotFound, "re: %q has made no request, so there is no %q", actor.ID, mess.Last)
	}
	return ref, nil
}

// MaySee reports whether an actor may read a thread: its parties, observers and operators, and
// executors that could take a pending thread.
func (x *Exchange) MaySee(actor Actor, e Envelope) bool {
	if e.IsVisibleTo(actor) {
		return true
	}
	return e.Status == mess.Pending && x.couldTake(actor, e)
}

// couldTake reports whether an actor is an executor with the abilities for a thread.
func (x *Exchange) couldTake(actor Actor, e Envelope) bool {
	return actor.Has(ExecutorRole) && x.snapshot(x.now()).IsAble(actor.ID, e)
}

// errNoThread is the error for a thread that does not exist, and for a hidden one: a client cannot
// distinguish them.
func errNoThread(name string) error {
	return mess.Errorf(mess.NotFound, "there is no thread %q", name)
}
