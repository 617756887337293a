package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// IsPartial reports whether one of several names means no device that can execute the
// hypothesis, or means several that can and does not mean all of them. Such a hypothesis does not
// count: it would leave a device out, or act on others.
func (rd *Hypothesis) IsPartial() bool {
	m := rd.Slot("device")
	return m != nil && slices.ContainsFunc(m.Parts, func(p lexicon.NamedGroup) bool {
		can := len(p.Devices) - len(lexicon.Subtract(p.Devices, rd.Devices))
		return can == 0 || can > 1 && !p.All
	})
}

// Hypothesis is one way to understand the text.
type Hypothesis struct {
	*grammar.Pattern
	Slots           []grammar.BoundSlot
	Args            mess.Object         // from the words, in addition to those of the capability
	asks            string              // the parameter that the interpreter must ask for
	number          float64             // its possible value
	other           *grammar.Pattern    // the hypothesis in which it is a difference
	Doubt           string              // why it needs a confirmation
	lost            []string            // skipped words
	pieces          int                 // number of pieces
	areaUnspecified bool                // the text means one place without its name
	unreachableArea string              // a named place out of reach
	sole            bool                // it is one of a group
	How             lexicon.Specificity // the most exact word for a device
	Devices         []int               // that can do the act
	Names           []grammar.BoundSlot // of several devices or places
	All             bool
}

// Slot returns the value of the slot of a kind, or nil if there is none.
func (rd *Hypothesis) Slot(kind string) *lexicon.SlotValue {
	for _, b := range rd.Slots {
		if b.Kind == kind {
			return b.Match
		}
	}
	return nil
}

// Value returns the text of the slot of a kind, or "" if there is none.
func (rd *Hypothesis) Value(kind string) string {
	if kind == "quantity" && rd.Quantity != "" {
		return rd.Quantity
	}
	if m := rd.Slot(kind); m != nil {
		return m.Value
	}
	return ""
}

// FindHypotheses finds the hypotheses of the text in all sentences.
func (x *Request) FindHypotheses() {
	walk := grammar.Walker{Words: x.Words(), Tokens: x.Tokens, Fill: x.FillSlot}
	walk.Found = func(s *grammar.Pattern, slots []grammar.BoundSlot) {
		if s.Asked && !x.IsQuestion {
			return
		}
		rd := Hypothesis{Pattern: s, Slots: slots, Doubt: s.Doubt, Args: slices.Clone(s.Args), All: s.All}
		if m := rd.Slot("spot"); m != nil && len(m.Rooms) > 1 && s.Capability.Command != capabilities.Clean { // two files are two prints
			return
		}
		for _, b := range slots {
			if slices.Contains(grammar.AmountKinds, b.Kind) || b.Kind == "amount" && b.Name != b.Kind {
				rd.Args = rd.Args.Set(b.Name, b.Match.Amount)
				if r, bounded := s.Within[b.Name]; bounded && (b.Match.Amount < r.Min || b.Match.Amount > r.Max) {
					return
				}
			}
			if b.Kind == "angle" && b.Match.Unit == entity.UnspecifiedUnit {
				rd.Doubt = "the text does not say degrees"
			}
			if b.Kind == "amount" && b.Name == b.Kind { // of no parameter: "two cups"
				rd.Doubt = doseDoubt(b.Match.Amount)
			}
			if b.Kind == "device" || b.Kind == "view" || b.Kind == "spot" {
				rd.How = max(rd.How, b.Match.Specificity)
				rd.All = rd.All || b.Match.All
			}
		}
		x.Hypotheses = append(x.Hypotheses, rd)
	}
	if len(x.Tokens) > 0 {
		walk.Walk(x.Resolver.Catalog.Grammar, 0)
	}
}

// plan chooses the device of a hypothesis and makes a plan.
func (x *Request) plan(rd *Hypothesis) capabilities.Outcome {
	sweeps := rd.IsWholeArea()
	if sweeps {
		rd.Doubt = cmp.Or(rd.Doubt, "the text names no kind of device")
	}
	if rd.Capability.Command.IsWait() && rd.All && len(rd.Devices) > 1 {
		return x.Reject(fmt.Sprintf("one request watches one thing; make a request for each of %s", strings.Join(x.Resolver.Labels(rd.Devices), ", ")), x.Resolver.Labels(rd.Devices))
	}
	if m := rd.Slot("device"); rd.All && !rd.sole && len(rd.Devices) > 1 && (sweeps || m == nil || rd.Capability.Effect == capabilities.Query || len(rd.Capability.Classes) == 1 || m.Specificity != lexicon.Unspecified && (m.Count == 0 || m.Count == len(rd.Devices))) {
		return x.planForAll(rd)
	}
	if x.Exclusion != nil && !rd.sole && rd.Capability.Command != capabilities.Clean {
		return x.Reject(fmt.Sprintf("%q excludes something, and only an order for several things can do that; name the things that you mean", x.Exclusion.Phrase), nil)
	}
	if rd.Capability.Effect != capabilities.Query {
		if out, bad := x.rejectUnknownLimits(); bad {
			return out
		}
	}
	if out, ok := x.applyMetadata(rd); !ok {
		return out
	}
	devices, out, ok := x.chooseDevices(rd)
	if !ok {
		return out
	}
	if len(devices) > 1 {
		return x.planForEach(rd, devices)
	}
	d := devices[0]
	areas, out, ok := x.chooseAreas(rd, d)
	if !ok {
		return out
	}
	if out, ok := x.askParameter(rd); !ok {
		return out
	}
	if out, ok := x.applyAmounts(rd, d); !ok {
		return out
	}
	if out, bad := x.rejectOtherPlace(d, areas); bad {
		return out
	}
	if made := x.Resolver.specificCapability(rd.Capability, d); made != rd.Capability && x.Demand.Capabilities == nil {
		one := *rd.Pattern
		one.Capability = made
		if x.Explain.Capability == rd.Capability.ID {
			x.Explain.Capability = made.ID
		}
		rd.Pattern = &one
	}
	plan := x.Resolver.planFor(rd, d, areas)
	if plan.Command.IsWait() {
		if out, ok := x.setWatchDuration(&plan); !ok {
			return out
		}
	}
	for _, p := range rd.Capability.Parameters {
		if value, given := plan.Args.Get(p.Name); given && p.RangeError(value) != "" {
			return x.Reject(fmt.Sprintf("%s: %s; ask for that", plan.Capability, p.RangeError(value)), nil)
		}
	}
	x.addResponse(&plan, d, areas)
	if out, bad := x.setDuration(&plan, d); bad {
		return out
	}
	if out, bad := x.addImage(&plan, d); bad {
		return out
	}
	if m := rd.Slot("device"); m != nil && m.Count > 1 && !rd.sole { // of several it is not one plan
		return x.AskConfirmation(plan, fmt.Sprintf("%q is %d, and there is only the %s: ", m.Number, m.Count, x.Resolver.Label(d)))
	}
	if x.IsDoubtful(rd) && !rd.sole && plan.Actuates() {
		return x.AskConfirmation(plan, x.DroppedText()+x.DoubtText(rd))
	}
	return capabilities.Outcome{Plan: &plan}
}

// responseTypes returns the content types of response_hint.
func (x *Request) responseTypes() []string {
	var list []string
	for _, h := range x.Message.ResponseHint {
		list = append(list, h.Type)
	}
	return list
}

// explainHypothesis notes how the interpreter understood the text.
func (x *Request) explainHypothesis(rd *Hypothesis, able []Hypothesis) {
	x.Explain.Template, x.Explain.Score, x.Explain.Capability = rd.Text, 1, rd.Capability.ID
	x.Explain.Evidence = rd.Capability.Evidence
	x.Explain.Slots = map[string]string{}
	for _, b := range rd.Slots {
		x.Explain.Slots[b.Name] = lexicon.Join(x.Tokens[b.From:b.Match.End])
	}
	for _, o := range able {
		if !rd.isSame(&o) {
			x.Explain.RunnerUp = o.Capability.ID + ": " + o.Text + " (1.00)"
			return
		}
	}
}

// setDuration puts the duration that requires asks for into a plan for device d. It refuses
// one that the plan cannot have.
func (x *Request) setDuration(plan *capabilities.Plan, d int) (capabilities.Outcome, bool) {
	switch lasts := x.Demand.duration; {
	case lasts == 0 || lasts == plan.For:
	case plan.For != 0:
		return x.Reject(fmt.Sprintf("the text says %s, but requires says %s; make them agree", capabilities.DurationText(plan.For), capabilities.DurationText(lasts)), nil), true
	case plan.Command != capabilities.SetSwitch && plan.Command != capabilities.Move && !plan.Command.IsWait():
		return x.Reject(fmt.Sprintf("requires: for: %s takes no duration; leave it out", plan.Capability), nil), true
	default:
		plan.For = lasts
		plan.Summary += " for " + capabilities.DurationText(lasts)
	}
	if plan.For > 0 && plan.Command == capabilities.Press {
		return x.Reject(fmt.Sprintf("%s is not possible: messkit presses and releases the %s at once, and it does not stay on; leave the time out", plan.Summary, x.Resolver.Label(d)), nil), true
	}
	if on, _ := plan.Args.Get("on"); plan.For > 0 && on != true && plan.Command != capabilities.Move && !plan.Command.IsWait() {
		return x.Reject(fmt.Sprintf("%s is not possible: only an order that turns something on can have a length of time, and the %s stays off until another order; leave the time out",
			plan.Summary, x.Resolver.Label(d)), nil), true
	}
	return capabilities.Outcome{}, false
}

// addResponse puts what the requester wants to get back into a plan for device d.
func (x *Request) addResponse(plan *capabilities.Plan, d int, areas []string) {
	plan.Want, plan.Asks = x.responseTypes(), x.QueriedState(plan)
	if slices.Contains(plan.Want, "location") {
		if plan.Command == capabilities.Clean {
			plan.Place = strings.Join(x.Resolver.roomsOf(d, areas), ", ")
		}
		plan.Place = cmp.Or(plan.Place, x.Resolver.Site.Devices[d].Area)
	}
}
