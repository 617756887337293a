package task

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/action"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/session"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/mess"
)

// report puts the terminal status of a thread into the outbox.
func (t *task) report(ctx context.Context, s *mess.Status, r *mess.Response) {
	items := []mess.Item{s}
	if r != nil {
		items = append(items, r)
	}
	t.markUnknownIfResumed(s)
	t.notifyUnknown(s)
	t.store(ctx, t.message(items...))
	if s.Code == mess.Failed {
		t.Log.Warn("failed", "ref", t.ref, "err", s.Reason.Detail)
		return
	}
	t.Log.Info("ended", "ref", t.ref, "status", s.Code)
}

// markUnknownIfResumed prevents this run from reporting the effect of an earlier one that has begun
// the same thread: that effect is unknown.
func (t *task) markUnknownIfResumed(s *mess.Status) {
	if t.resumed && t.plan.Actuates() && s.Reason != nil && s.Reason.Effect == mess.EffectNone {
		s.Reason.Effect, s.Evidence, s.Suggestion = mess.EffectUnknown, evidenceOf(mess.EffectUnknown, ""), "look before retrying"
		s.Reason.Detail += "; the program had begun it before, and died"
	}
}

// notifyUnknown reports an end with an unknown effect to Config.Unknown.
func (t *task) notifyUnknown(s *mess.Status) {
	if t.Config.Unknown == nil || s.Reason == nil || s.Reason.Effect != mess.EffectUnknown {
		return
	}
	var plan capabilities.Plan
	if t.plan != nil {
		plan = *t.plan
	}
	t.Config.Unknown(t.ref, plan)
}

// store writes a report to the journal, which serves as the outbox. If the disk fails, the
// journal keeps it in memory until the program ends.
func (t *task) store(ctx context.Context, m mess.Message) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.Config.EndTime)
	defer cancel()
	t.all.mu.Lock()
	t.watchedSince = t.Now()
	for _, item := range m.Items {
		if s, ok := item.(*mess.Status); ok {
			t.code = s.Code
		}
	}
	t.all.mu.Unlock()
	t.storeLateCommands(ctx) // before the report: the journal drops the thread after sending it
	m = t.signed(m)
	if err := t.Journal.Done(ctx, t.ref, m.Epoch, m); err != nil {
		t.Host.JournalFailed()
		t.Log.Error("the journal does not take a report; only the memory of this program holds it", "ref", t.ref, "err", err)
	}
}

// deliverReports sends the reports in the outbox until ctx ends.
func (ts *Tasks) deliverReports(ctx context.Context) error {
	pause := ts.Session.Backoff()
	for {
		sent, left := ts.sendReports(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if sent > 0 { // the exchange answers, at least sometimes
			pause = ts.Session.Backoff()
		}
		if left {
			if !pause.Sleep(ctx) {
				return nil
			}
			continue
		}
		pause = ts.Session.Backoff()
		select {
		case <-ctx.Done():
			return nil
		case <-ts.reports:
		}
	}
}

// DeliverLast sends the reports in the outbox at the end of the program. The next run sends the
// remaining ones.
func (ts *Tasks) DeliverLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastReportsTime)
	defer cancel()
	if _, left := ts.sendReports(ctx); left {
		ts.Log.Warn("the next start sends the remaining reports")
	}
}

const lastReportsTime = 5 * time.Second

// sendReports sends the complete reports, oldest first. It returns how many the exchange has
// answered, and whether any is left because the exchange does not answer.
func (ts *Tasks) sendReports(ctx context.Context) (sent int, left bool) {
	for _, task := range ts.Journal.Tasks() {
		if task.Report == nil || ts.isInWork(task.Ref) {
			continue
		}
		// A thread that was in work a moment ago has a newer report than the list.
		task, there := ts.Journal.Task(task.Ref)
		if !there || task.Report == nil {
			continue
		}
		_, err := ts.Session.Send(ctx, *task.Report)
		if session.IsUnavailable(err) || errors.Is(err, mess.Unauthorized) || ctx.Err() != nil {
			ts.Log.Debug("report not taken yet", "ref", task.Ref, "err", err)
			return sent, true
		}
		sent++
		if err != nil && ts.retryWithoutFiles(ctx, task, err) {
			continue // it is in the outbox again
		}
		if err != nil && ts.retryAsUnknown(ctx, task, err) {
			continue
		}
		if err != nil {
			ts.mu.Lock()
			ts.rejectedReports[task.Ref] = task.Epoch
			ts.mu.Unlock()
			ts.Log.Error("the exchange has rejected a report; the agent drops it", "ref", task.Ref, "err", err)
		}
		if err := ts.Journal.Sent(ctx, task.Ref); err != nil {
			ts.Host.JournalFailed()
			ts.Log.Error("the journal takes no records; the next start may send a report again", "ref", task.Ref, "err", err)
		}
		ts.addDeferredOffer(task.Ref)
	}
	return sent, false
}

// isInWork reports whether the agent still works on a thread: its report may not be final.
func (ts *Tasks) isInWork(ref string) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byRef[ref]
	return t != nil && t.epoch != 0
}

// retryWithoutFiles replaces a report whose content the exchange has rejected by one without
// attachments: the result matters more than its images.
func (ts *Tasks) retryWithoutFiles(ctx context.Context, task journal.Task, rejection error) bool {
	byContent := slices.ContainsFunc([]mess.ErrorCode{mess.MissingReference, mess.NotFound, mess.TooLarge, mess.Invalid}, func(w mess.ErrorCode) bool { return errors.Is(rejection, w) })
	m, had := withoutFiles(*task.Report, rejection)
	if !byContent || !had {
		return false
	}
	ts.mu.Lock()
	m.ID = ts.Session.NextID()
	ts.mu.Unlock()
	m = ts.Session.SignAgain(task.Ref, m)
	if err := ts.Journal.Done(ctx, task.Ref, task.Epoch, m); err != nil {
		ts.Log.Error("the journal takes no records", "err", err)
		return false
	}
	ts.WakeOutbox()
	return true
}

// retryAsUnknown replaces a rejected report by the simplest one, for a thread that the exchange
// lists as begun here without a known result. Without any report, the thread would look like an
// unused start permission.
func (ts *Tasks) retryAsUnknown(ctx context.Context, task journal.Task, rejection error) bool {
	r, ok := errors.AsType[*mess.Error](rejection)
	if !ok || r.Holder != ts.Config.ID || r.Status.Terminal() || isUnreported(*task.Report) {
		return false
	}
	t := ts.taskOf(mess.HeldThread{Ref: task.Ref, Epoch: task.Epoch})
	s := failed(unreportedType, "the exchange has rejected the report: "+r.Text, mess.EffectUnknown, capabilities.Plan{})
	if err := ts.Journal.Done(ctx, task.Ref, task.Epoch, t.signed(t.message(s))); err != nil {
		ts.Log.Error("the journal takes no records", "err", err)
		return false
	}
	ts.Log.Error("the exchange has rejected a report; the agent reports an unknown result", "ref", task.Ref, "err", rejection)
	ts.WakeOutbox()
	return true
}

// unreportedType is the reason type of a report by retryAsUnknown.
const unreportedType = "unreported"

func isUnreported(m mess.Message) bool {
	return slices.ContainsFunc(m.Items, func(i mess.Item) bool {
		s, ok := i.(*mess.Status)
		return ok && s.Reason != nil && s.Reason.Type == unreportedType
	})
}

// withoutFiles removes the attachments from a message and notes that in it. had reports whether
// there were any.
func withoutFiles(m mess.Message, cause error) (_ mess.Message, had bool) {
	m.Items = slices.Clone(m.Items)
	for i, item := range m.Items {
		if s, ok := item.(*mess.Status); ok && s.Evidence == mess.Photographed {
			c := *s
			c.Evidence = mess.Acknowledged // this evidence needs no images
			m.Items[i] = &c
		}
		r, ok := item.(*mess.Response)
		if !ok {
			continue
		}
		c := *r
		c.Content = slices.DeleteFunc(slices.Clone(r.Content), func(e mess.Entry) bool {
			f, ok := e.Media()
			return ok && (f.File != "" || strings.HasPrefix(f.URI, "data:"))
		})
		had = had || len(c.Content) < len(r.Content)
		c.Notes = wording.Sentences(c.Notes, "The exchange has not taken the pictures: "+cause.Error()+".")
		m.Items[i] = &c
	}
	return m, had
}

// uploadImages uploads images and returns the content entries for them. It describes missing images
// in words.
func (t *task) uploadImages(ctx context.Context, images []action.Image) (content []mess.Entry, trouble []string) {
	for _, s := range images {
		e, err := t.uploadImage(ctx, s)
		if err != nil {
			t.Log.Warn("the agent could not deliver a picture", "ref", t.ref, "err", err)
			trouble = append(trouble, fmt.Sprintf("the agent could not deliver the picture %s: %v", s.Name, err))
			continue
		}
		content = append(content, e)
	}
	return content, trouble
}

func (t *task) uploadImage(ctx context.Context, s action.Image) (mess.Entry, error) {
	p, err := t.Devices.Cameras.Fit(ctx, s.Image, t.imageLimits())
	if err != nil {
		return mess.Entry{}, err
	}
	pause := t.Session.Backoff()
	for {
		m, err := t.Session.Attach(ctx, t.ref, s.Name+extension(p.MIME), p.MIME, bytes.NewReader(p.Data))
		if session.IsUnavailable(err) && ctx.Err() == nil && pause.Sleep(ctx) {
			continue
		}
		if err != nil {
			return mess.Entry{}, err
		}
		if m.File == "" { // the exchange stores no files: use the short form, which every client reads
			extra := append(mess.Object{{Key: "captured_at", Value: string(wording.UTC(s.CapturedAt))}}, wording.Aged(s.CapturedAt, t.ended, t.Session.ClockMark())...)
			extra = slices.DeleteFunc(extra, func(f mess.Field) bool { return f.Key == "at" })
			return mess.Entry{Type: "image", Value: m.URI, Extra: extra}, nil
		}
		m.CapturedAt = wording.UTC(s.CapturedAt)
		for _, f := range wording.Aged(s.CapturedAt, t.ended, t.Session.ClockMark()) {
			if f.Key != "at" { // captured_at already has it
				m.Extra = append(m.Extra, f)
			}
		}
		return mess.MediaEntry("image", m), nil
	}
}

// imageLimits returns the limits for images of this request: the hint's max_bytes, and max_px along
// the longer edge. It ignores values that are not positive numbers.
func (t *task) imageLimits() picture.Limits {
	lim := picture.Limits{MaxBytes: picture.Ceiling}
	for _, h := range t.req.ResponseHint {
		if spec, ok := h.Spec.(mess.Object); ok && h.Type == "image" {
			if n := positive(spec, "max_bytes"); n > 0 {
				lim.MaxBytes = min(n, picture.Ceiling) // a requester may lower the limit, and not raise it
			}
			lim.MaxPx = positive(spec, "max_px")
			break
		}
	}
	return lim
}

func positive(o mess.Object, key string) int {
	v, _ := o.Get(key)
	n, ok := v.(mess.Number)
	if !ok {
		return 0
	}
	i, err := n.Int64()
	if err != nil || i < 0 || i > 1<<31-1 {
		return 0
	}
	return int(i)
}

// extension returns the file extension for an image type.
func extension(mime string) string {
	kind, ok := strings.CutPrefix(mime, "image/")
	if !ok || strings.ContainsAny(kind, "/.;+ ") {
		return ""
	}
	if kind == "jpeg" {
		kind = "jpg"
	}
	return "." + kind
}
