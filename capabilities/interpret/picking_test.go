package interpret_test

import (
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// The matcher reads the whole answer to "which one?". It picks the options that fit, and
// repeats the question for any other answer.
func TestAnswerPicksOptions(t *testing.T) {
	const again, none = "again", "no: the answer picks none of them; nothing happens"
	const kitchen, hall, porch = "switch-on kitchen-light", "switch-on hall-light", "switch-on porch-light"
	r, req := lamps(), ask("turn on the light")
	q := question(t, r, req)
	for answer, want := range map[string]string{
		"the first":                          kitchen,
		"the last one":                       porch,
		"yes, the kitchen":                   kitchen,
		"I meant the kitchen":                kitchen,
		"turn on the kitchen light":          kitchen,
		"the kitchen light please":           kitchen,
		"not that one, the kitchen one":      kitchen,
		"no, the hall":                       hall,
		"no, not that, the hall one":         hall,
		"not the kitchen one, the hall one":  hall,
		"the hall, not the kitchen":          hall,
		"the hall rather than the kitchen":   hall,
		"the first two":                      kitchen + ",hall-light",
		"1 and 2":                            kitchen + ",hall-light",
		"kitchen, hall":                      kitchen + ",hall-light",
		"the kitchen one and the hall one":   kitchen + ",hall-light",
		"all of them":                        kitchen + ",hall-light,bedroom-light,porch-light",
		"all lights":                         kitchen + ",hall-light,bedroom-light,porch-light",
		"all but the kitchen":                hall + ",bedroom-light,porch-light",
		"everything except the first":        hall + ",bedroom-light,porch-light",
		"neither":                            none,
		"none of them":                       none,
		"no":                                 none,
		"nothing":                            none,
		"the left one":                       again,
		"the other one":                      again,
		"not the kitchen one":                again,
		"not the kitchen one, the other one": again,
		"both":                               again,
		"either":                             again,
		"any":                                again,
		"yes":                                again,
		"the kitchen?":                       again,
		"the kitchen and the attic":          again,
		"the kitchen, not the kitchen":       again,
		"the kitchen but only if it is dark": again,
		"don't turn on the kitchen light":    again,
		"turn off the kitchen light":         again,
		"the kitchen in ten minutes":         again,
		"the fifth":                          again,
		"the first nine":                     again,
		"no the kitchen":                     again,
		"hall, no, kitchen":                  again,
		"hall. no, kitchen":                  again,
		"hall, no the kitchen":               again,
		"kitchen... I mean hall":             again,
		"the kitchen, sorry, the hall":       again,
		"both not":                           again,
		"the second, no the first":           again,
	} {
		if want == again {
			want = got(r.Resolve(req))
		}
		if o := r.Answer(q, nil, answer, req); got(o) != want {
			t.Errorf("Answer(%q) = %q, want %q", answer, got(o), want)
		}
	}
}

// Of two options "the other one" picks one after the exclusion of the other. "Both" repeats
// a question that takes only one.
func TestOtherOneNeedsAnExcludedOne(t *testing.T) {
	r, req := resolver(), ask("turn on the living room light")
	q := question(t, r, req)
	for answer, want := range map[string]string{
		"both":                                "switch-on reading-lamp,ceiling",
		"not the reading lamp, the other one": "switch-on ceiling",
		"the other one":                       got(r.Resolve(req)),
		"both but not the reading lamp":       "switch-on ceiling",
		"both lamps":                          "switch-on reading-lamp,ceiling",
	} {
		if o := r.Answer(q, nil, answer, req); got(o) != want {
			t.Errorf("Answer(%q) = %q, want %q", answer, got(o), want)
		}
	}
	h := exampleHome()
	for _, lamp := range []int{1, 2} {
		h.Devices[lamp].Commands = append(h.Devices[lamp].Commands, capabilities.WaitForCondition)
	}
	r = interpret.New(catalog.Default(), h)
	req = ask("tell me when the living room light goes on")
	if o := r.Answer(question(t, r, req), nil, "both", req); o.Question == nil {
		t.Errorf("a watch of both: %q, want the question again", got(o))
	}
}
