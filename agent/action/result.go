package action

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/messkit/messkit/agent/imaging"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// Result is the result of carrying out a plan.
type Result struct {
	Err                   error
	Effect                mess.Effect // effect of a failed plan; "" for unknown
	Evidence              mess.Evidence
	Text                  string        // a sentence for the requester
	Facts                 mess.Object   // the same as data
	Images                []Image       // captured images
	Earlier               []mess.Entry  // images of an earlier thread
	EvidenceWithoutImages mess.Evidence // evidence without the images, if weaker
	Done                  []string      // completed parts
	Remaining             []string      // remaining parts
	Continues             bool          // the program ends and the device continues on its own: the next run follows it
	StandsStill           bool          // it was interrupted, and the device reports that it stands still
	MayMove               bool          // it was interrupted, and the device may still move
	Unanswered            bool          // the device has not answered the command, which may still arrive
	StateCheck            StateCheck    // the last reading of the device
	Notes                 string        // additional facts for the requester
	Yes                   *bool         // the answer to a yes-or-no question
}

// Note adds a fact for the requester.
func (r *Result) Note(format string, args ...any) {
	if r.Notes != "" {
		r.Notes += "; "
	}
	r.Notes += fmt.Sprintf(format, args...)
}

// addImage adds an image with its evidence. An image on which nothing is visible is no
// evidence.
func (r *Result) addImage(e mess.Evidence, s Image) {
	r.Images = append(r.Images, s)
	if r.noteNothingVisible(s.Image) {
		return
	}
	r.EvidenceWithoutImages = cmp.Or(r.EvidenceWithoutImages, r.Evidence)
	r.Evidence = e
}

// noteNothingVisible notes if nothing is visible on an image, and reports whether that is so.
func (r *Result) noteNothingVisible(s imaging.Image) bool {
	if s.NothingVisible != "" {
		r.Note("the picture shows nothing: %s", s.NothingVisible)
	}
	return s.NothingVisible != ""
}

// Image is an image and its subject.
type Image struct {
	imaging.Image
	Name string // file name without extension
}

// maxErrors limits the failed steps whose reasons the answer contains. "messkit status" shows the
// failures of all devices.
const maxErrors = 3

// stepErrors holds the errors of failed steps.
type stepErrors []error

func (e stepErrors) Error() string {
	texts := make([]string, 0, maxErrors+1)
	for _, err := range e[:min(len(e), maxErrors)] {
		texts = append(texts, err.Error())
	}
	if more := len(e) - maxErrors; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more have failed; messkit status shows why", more))
	}
	return strings.Join(texts, "; ")
}

func (e stepErrors) Unwrap() []error { return e }

// Add adds the result of one step to the result of a plan with several steps.
func (r *Result) Add(step capabilities.Plan, one Result) {
	first := len(r.Done)+len(r.Remaining) == 0
	if one.Err == nil {
		r.Done = append(r.Done, step.Summary)
	} else {
		r.Remaining = append(r.Remaining, step.Summary)
		r.Err = r.with(fmt.Errorf("%s: %w", step.Summary, one.Err))
		r.Effect = combineEffects(r.Effect, one)
	}
	if one.Err == nil {
		if first || isWeaker(one.Evidence, r.Evidence) {
			r.Evidence = one.Evidence
		}
		withoutImages := cmp.Or(one.EvidenceWithoutImages, one.Evidence)
		if first || isWeaker(withoutImages, r.EvidenceWithoutImages) {
			r.EvidenceWithoutImages = withoutImages
		}
		r.Text = wording.Sentences(r.Text, one.Text)
	}
	r.addYes(step, one, first)
	if len(one.Facts) > 0 {
		list, _ := r.Facts.Get("steps")
		steps, _ := list.([]any)
		r.Facts = r.Facts.Set("steps", append(steps, one.Facts))
	}
	r.Images = append(r.Images, one.Images...)
	r.Unanswered = r.Unanswered || one.Unanswered
	if failed, _ := r.Err.(stepErrors); one.Notes != "" && (one.Err == nil || len(failed) <= maxErrors) {
		r.Note("%s", one.Notes)
	}
}

// with combines err with the errors of failed steps.
func (r *Result) with(err error) error {
	failed, _ := r.Err.(stepErrors)
	return append(failed, err)
}

// combineEffects returns the effect of several steps after one has failed. An earlier unknown or
// partial effect remains, for any later result.
func combineEffects(before mess.Effect, one Result) mess.Effect {
	effect := cmp.Or(one.Effect, mess.EffectUnknown)
	if effect == mess.EffectNone && len(one.Done) > 0 {
		effect = mess.EffectPartial
	}
	for _, e := range []mess.Effect{mess.EffectUnknown, mess.EffectPartial} {
		if before == e || effect == e {
			return e
		}
	}
	return effect
}

// evidenceLevels orders the evidence levels, weakest first.
var evidenceLevels = map[mess.Evidence]int{mess.EvidenceUnknown: 0, "": 0, mess.Dispatched: 1, mess.Acknowledged: 2, mess.ReadBack: 3, mess.Photographed: 4}

func isWeaker(a, b mess.Evidence) bool { return b == "" || evidenceLevels[a] < evidenceLevels[b] }

// addYes combines the answer of one step with the result. The combined answer exists if each
// step has one; it is yes if all are yes, or if one is and that is enough.
func (r *Result) addYes(step capabilities.Plan, one Result, first bool) {
	_, any := step.QueriedState()
	switch {
	case first, one.Yes == nil:
		r.Yes = one.Yes
	case r.Yes != nil && any:
		r.Yes = new(*r.Yes || *one.Yes)
	case r.Yes != nil:
		r.Yes = new(*r.Yes && *one.Yes)
	}
}
