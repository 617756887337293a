package mess

import "fmt"

func (c *checker) status(path string, s *Status) {
	c.about(path, s.Re, s.ID)
	if _, err := ParseCode(string(s.Code)); s.Code == "" {
		c.fail(path, "code is missing; write a status such as claimed")
	} else if err != nil {
		c.fail(path+".code", "%v", err)
	}
	c.when(path+".eta", s.ETA)
	c.duration(path+".estimate", s.Estimate)
	c.within(path+".progress_pct", s.ProgressPct, 0, 100)
	c.when(path+".resume_eta", s.ResumeETA)
	c.when(path+".next_attempt", s.NextAttempt)
	c.time(path+".expired_at", s.ExpiredAt)
	c.refs(path+".superseded_by", s.SupersededBy)
	if s.Reason != nil {
		oneOf(c, path+".reason.effect", s.Reason.Effect, EffectNone, EffectPartial, EffectUnknown)
	}
	oneOf(c, path+".evidence", s.Evidence, Dispatched, Acknowledged, ReadBack, Photographed, EvidenceUnknown)
	c.required(path, s)
}

// required checks the fields that MESS 1.0 section 4.2 requires for a code. The sender
// identifies the executor; the text of a message may replace a reason, as in other
// implementations; and an executor that returns a thread need not know the next one.
func (c *checker) required(path string, s *Status) {
	switch s.Code {
	case Waiting:
		c.waiting(path+".waiting_for", s.WaitingFor)
	case Retrying:
		c.needs(path, s.Attempt != nil, "attempt")
		if s.Attempt != nil && s.MaxAttempts != nil && (*s.Attempt < 1 || *s.Attempt > *s.MaxAttempts) {
			c.fail(path+".attempt", "%d of %d cannot be; count from 1", *s.Attempt, *s.MaxAttempts)
		}
	case NeedsInput:
		c.questions(path+".questions", s.Questions)
	case NeedsConfirmation:
		c.needs(path, s.Action != "", "action (the action to confirm)")
	case Partial:
		c.needs(path, s.Completed != nil || s.Remaining != nil, "completed or remaining")
	case Failed, Declined:
		c.needs(path, s.Reason != nil || s.Message != "", "reason")
	case Superseded:
		c.needs(path, len(s.SupersededBy) > 0, "superseded_by")
	}
}

func (c *checker) waiting(path string, w *WaitingFor) {
	if w == nil {
		c.fail(path, "is missing; write a mapping with type and the cause")
		return
	}
	c.needs(path, w.Type != "", "type")
	oneOf(c, path+".type", w.Type, "dependency", "condition", "resource", "access", "schedule")
	c.refs(path+".ref", w.Ref)
	c.duration(path+".eta", w.ETA)
	c.time(path+".available_at", w.AvailableAt)
}

func (c *checker) questions(path string, list []Question) {
	c.needs(path, len(list) > 0, "at least one question")
	for i, q := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		c.needs(at, q.Key() != "", "field (the name that the answer goes by)")
		c.needs(at, q.Question != "", "question")
	}
}

func (c *checker) response(path string, r *Response) {
	c.about(path, r.Re, r.ID)
	c.time(path+".completed_at", r.CompletedAt)
	c.entries(path+".content", r.Content)
}

func (c *checker) reply(path string, r *Reply) {
	c.about(path, r.Re, r.ID)
	c.needs(path, r.Answers != nil || r.Confirm != nil || r.Accept != nil, "answers, confirm or accept")
	c.entries(path+".context", r.Context)
}

func (c *checker) suggestion(path string, s *Suggestion) {
	c.id(path+".id", s.ID)
	c.refs(path+".re", s.Re)
	c.needs(path, s.Type != "", "type")
	oneOf(c, path+".type", s.Type, "merge", "split", "delegate", "alternative", "defer")
}

func (c *checker) ack(path string, a *Ack) {
	c.refs(path+".re", a.Re)
	c.id(path+".ref", a.Ref)
	c.time(path+".received_at", a.ReceivedAt)
	for i, r := range a.Requests {
		at := fmt.Sprintf("%s.requests[%d]", path, i)
		c.needs(at, r.Ref != "", "ref")
		c.id(at+".id", r.ID)
		c.id(at+".ref", r.Ref)
	}
}

func (c *checker) query(path string, q *Query) {
	c.id(path+".id", q.ID)
	c.needs(path, q.Type != "", "type")
	oneOf(c, path+".type", q.Type, "status", "capabilities", "executors")
	f := q.Filter
	if f == nil {
		return
	}
	c.refs(path+".filter.re", f.Re)
	c.time(path+".filter.since", f.Since)
	for i, code := range f.Status {
		_, err := ParseCode(string(code))
		c.failIf(fmt.Sprintf("%s.filter.status[%d]", path, i), err)
	}
}

func (c *checker) config(path string, k *Config) {
	c.id(path+".id", k.ID)
	c.needs(path, k.Executor != nil || k.Routing != nil || k.Stop != nil || k.Drain != nil || k.Resume != nil, "executor, routing, stop, hold or resume")
	if e := k.Executor; e != nil {
		c.executor(path+".executor", e)
	}
	if k.Stop != nil {
		c.named(path+".stop", k.Stop.Executors)
	}
	if k.Drain != nil {
		c.named(path+".hold", k.Drain.Executors)
	}
	if k.Resume != nil {
		c.named(path+".resume", k.Resume.Executors)
	}
	if k.Drain != nil && k.Resume != nil {
		c.fail(path+".resume", "excludes hold; remove one of them")
	}
	if k.Routing == nil {
		return
	}
	for i, r := range k.Routing.Rules {
		at := fmt.Sprintf("%s.routing.rules[%d]", path, i)
		if r.Default == nil {
			c.needs(at, len(r.Prefer) > 0, "prefer")
		} else {
			c.needs(at+".default", len(r.Default.Prefer) > 0, "prefer")
			if len(r.Prefer) > 0 || r.Match.Capability != "" || r.Match.Urgency != "" || r.Match.Precision != "" {
				c.fail(at+".default", "excludes match and prefer; write a separate rule")
			}
		}
		oneOf(c, at+".match.urgency", r.Match.Urgency, Whenever, Soon, Now)
		oneOf(c, at+".match.precision", r.Match.Precision, Loose, Guided, Exact)
	}
}

func (c *checker) named(path string, executors Refs) {
	for i, id := range executors {
		if !ValidID(id) {
			c.fail(fmt.Sprintf("%s.executors[%d]", path, i), "%.60q cannot name an executor", id)
		}
	}
}

func (c *checker) executor(path string, e *Executor) {
	if !ValidID(e.ID) {
		c.fail(path+".id", "%.60q cannot name an executor; use letters, digits and . _ : @ -, at most 128", e.ID)
	}
	c.capabilities(path+".capabilities", e.Capabilities)
	oneOf(c, path+".availability", e.Availability, Always, Schedule, OnDemand)
	for i, s := range e.States {
		at := fmt.Sprintf("%s.states[%d]", path, i)
		c.needs(at, s.Device != "", "device")
		c.needs(at, s.State != "", "state")
		for k, r := range s.Readings {
			c.needs(fmt.Sprintf("%s.readings[%d]", at, k), r.Quantity != "", "quantity")
		}
	}
}
