package agent

import (
	"context"
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// steer pauses, resumes or stops a device, and reads back whether it stands still.
func (v verbs) steer(ctx context.Context) result {
	var err error
	var left, text string
	d := v.dev.Driver
	switch v.plan.Command {
	case capabilities.Pause:
		err, text = v.pass.Pause(ctx, d.(drivers.Pauser)), "The %s is paused."
	case capabilities.Resume:
		err, text = v.pass.Resume(ctx, d.(drivers.Pauser)), "The %s goes on."
	default:
		left, err = v.pass.Stop(ctx, d.(drivers.Stopper))
		text = "The %s has stopped."
	}
	r := result{err: err, effect: effectOf(err), evidence: mess.Acknowledged, yes: new(true)}
	if r.effect == mess.EffectNone {
		return r
	}
	r.text = sentences(fmt.Sprintf(text, v.dev.Label), sentence(left))
	r.facts = mess.Object{{Key: "device", Value: v.dev.Name}}
	since := v.now()
	v.acted(r)
	ctx, cancel := aftermath(ctx)
	defer cancel()
	v.readRest(ctx, v.plan.Command != capabilities.Resume, &r)
	if v.plan.Command == capabilities.Stop {
		v.reckoned(ctx, &r)
	}
	if r.err == nil && v.wanted() {
		v.lookAgain(ctx, since, &r)
	}
	return r
}

// readRest corrects the result by whether the device stands still.
func (v verbs) readRest(ctx context.Context, want bool, r *result) {
	reader, ok := v.dev.Driver.(drivers.RestReader)
	_, places := v.dev.Driver.(drivers.OpeningReader)
	if !ok || places && r.err == nil {
		v.readStood(ctx, r)
		return
	}
	switch still, err := v.pass.AtRest(ctx, reader); {
	case err != nil:
		r.unread(err)
	case still != want && r.err == nil:
		r.err, r.effect = fmt.Errorf("%s was told, but reads back as %s", v.dev.Name, map[bool]string{true: "standing still", false: "moving"}[still]), mess.EffectUnknown
	case still && r.err != nil && hot(v.dev.Driver, v.plan):
		r.err = fmt.Errorf("%w; it stands still", r.err)
	case still == want && want:
		r.err, r.effect, r.evidence = nil, "", mess.ReadBack
	case still == want && r.err == nil:
		r.evidence = mess.ReadBack
	case still: // it may stand still for a moment after a resume
		r.err = fmt.Errorf("%w; it stood still just now, and may still act", r.err)
	}
}

// readStood adds the position of a stopped device, if it reports one: a moving device reports
// none.
func (v verbs) readStood(ctx context.Context, r *result) {
	reader, ok := v.dev.Driver.(drivers.OpeningReader)
	if !ok || r.err != nil || v.plan.Command != capabilities.Stop {
		return
	}
	is, err := v.pass.Opening(ctx, reader)
	if err != nil {
		r.unread(err)
		return
	}
	r.evidence = mess.ReadBack
	r.text = sentences(r.text, fmt.Sprintf("It is %s.", openness(is)))
	r.facts = r.facts.Set("opening", mess.Number(number(is)))
}

// hot reports whether standing still is not the goal of a plan: a paused print also stands
// still, with its heaters on.
func hot(d drivers.Device, p capabilities.Plan) bool {
	_, prints := d.(drivers.Printer)
	return prints && p.Command == capabilities.Stop
}

// spot cleans the spot at the device's position.
func (v verbs) spot(ctx context.Context) result {
	_, err := attend(ctx, v, func(progress func(drivers.Progress)) (struct{}, error) {
		return struct{}{}, v.pass.Spot(ctx, v.dev.Driver.(drivers.Spotter), progress)
	})
	r := result{
		err: err, effect: effectOf(err), evidence: mess.Acknowledged, yes: new(true),
		text: fmt.Sprintf("The %s has cleaned the spot.", v.dev.Label),
	}
	if r.effect == mess.EffectNone {
		return r
	}
	since := v.now()
	v.acted(r)
	ctx, cancel := aftermath(ctx)
	defer cancel()
	if err != nil {
		v.comeToRest(ctx, &r)
		return r
	}
	if v.wanted() {
		v.lookAgain(ctx, since, &r)
	}
	return r
}

// sentence turns a part of a sentence into a sentence.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	first, rest := s[:1], s[1:]
	if first >= "a" && first <= "z" {
		first = string(first[0] - 'a' + 'A')
	}
	return first + rest + "."
}
