package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/internal/order"
)

// rangesText says which numbers devices of this home take, with their ranges.
func (r *Resolver) rangesText() string {
	var list []string
	for _, c := range r.Catalog.Capabilities {
		for _, p := range c.Parameters {
			if _, fixed := c.FixedArgs().Get(p.Name); !fixed && p.Type == "number" && p.Min != nil && p.Max != nil && r.reach(c) > 0 {
				list = append(list, fmt.Sprintf("%s: %s %v to %v %s", c.ID, p.Name, *p.Min, *p.Max, p.Unit))
			}
		}
	}
	if len(list) == 0 {
		return "nothing here takes a number"
	}
	return "these take a number here: " + strings.Join(list, "; ")
}

// Nearest returns the names that are near the words, otherwise the capabilities of this
// home.
func (r *Resolver) Nearest(words []string) []string {
	if list := r.NearestNames(words); len(list) > 0 {
		return list
	}
	return r.offeredIDs()
}

// NearestNames returns the names of this home that are nearest to the words.
func (r *Resolver) NearestNames(words []string) []string {
	type near struct {
		name string
		far  int
	}
	far := make([]int, len(r.SpelledNames.Names))
	asked := make([]lexicon.Spelling, len(words))
	for i, a := range words {
		asked[i] = lexicon.NewSpelling(strings.ToLower(a))
	}
	for i, b := range r.SpelledNames.Words {
		best := lexicon.MaxDistance
		for _, a := range asked {
			if a.MinDistance(b) < lexicon.MaxDistance {
				best = min(best, lexicon.Distance(a.Word, b.Word))
			}
		}
		for _, name := range r.SpelledNames.Of[i] {
			far[name] = max(far[name], lexicon.MaxDistance-best)
		}
	}
	var list []near
	for i, name := range r.SpelledNames.Names {
		if far[i] > 0 {
			list = append(list, near{name, lexicon.MaxDistance - far[i]})
		}
	}
	order.By(list, func(a, b near) int { return cmp.Compare(a.far, b.far) })
	var names []string
	for _, n := range list[:min(len(list), lexicon.MaxNearest)] {
		names = append(names, n.name)
	}
	return names
}

// closest returns the names that are closest to the text, at most MaxNearest of them and the
// closest first. It compares the words of the text with the words of a name, the words of a
// capability, and similar spellings. Equally close names keep their order.
func (x *Request) closest(names []string) []string {
	if len(names) < 2 {
		return names
	}
	words := make([]lexicon.Spelling, 0, len(x.Tokens))
	for _, t := range x.Tokens {
		if !slices.Contains(lexicon.MeaninglessWords, t.Folded) {
			words = append(words, lexicon.NewSpelling(t.Folded))
		}
	}
	var list []string
	var shares []float64 // of each in list
	known := x.Resolver.SpelledNames.CommonWords(words)
	for _, name := range names {
		share := known(name)
		if own := x.Resolver.Catalog.IDWords[name]; own != nil {
			share = lexicon.CommonWords(words, own, x.Resolver.Catalog.DescriptionWords[name])
		}
		at := len(list)
		for at > 0 && shares[at-1] < share {
			at--
		}
		if at < lexicon.MaxNearest {
			list, shares = slices.Insert(list, at, name), slices.Insert(shares, at, share)
			list, shares = list[:min(len(list), lexicon.MaxNearest)], shares[:min(len(list), lexicon.MaxNearest)]
		}
	}
	return list
}

// related returns the capabilities that share a word with the text. One letter may differ.
func (x *Request) related(ids []string) (list []string) {
	for _, id := range ids {
		if slices.ContainsFunc(x.Tokens, func(t lexicon.Token) bool {
			return !slices.Contains(lexicon.MeaninglessWords, t.Folded) && !slices.Contains(lexicon.PlacingWords, t.Folded) &&
				(slices.ContainsFunc(x.Resolver.Catalog.IDWords[id], func(own lexicon.Spelling) bool { return lexicon.Likeness(lexicon.NewSpelling(t.Folded), own) >= 0.75 }) || slices.Contains(x.Resolver.Catalog.DescriptionWords[id], t.Folded))
		}) {
			list = append(list, id)
		}
	}
	return list
}

func (r *Resolver) spell() (s lexicon.SpelledNames) {
	s.Names, s.At = r.allNames(), map[string]int{}
	s.Index, s.Has = make(map[string]int, len(s.Names)), make([][]int32, len(s.Names))
	for i, name := range s.Names {
		s.Index[name] = i
		s.Device = append(s.Device, len(r.Index.Labels[name]) > 0)
		for _, word := range lexicon.Distinct(lexicon.Split(name)) {
			n, known := s.At[word]
			if !known {
				n = len(s.Words)
				s.At[word], s.Words, s.Of = n, append(s.Words, lexicon.NewSpelling(word)), append(s.Of, nil)
			}
			s.Of[n] = append(s.Of[n], int32(i))
			s.Has[i] = append(s.Has[i], int32(n))
		}
	}
	return s
}

// devicesSharingWord returns the devices whose names have one of the words.
func (r *Resolver) devicesSharingWord(tokens []lexicon.Token) (list []string) {
	var found []int32
	for _, t := range tokens {
		if n, known := r.SpelledNames.At[t.Folded]; known && len(t.Folded) > 3 {
			found = append(found, r.SpelledNames.Of[n]...)
		}
	}
	slices.Sort(found)
	for _, i := range slices.Compact(found) {
		if r.SpelledNames.Device[i] {
			list = append(list, r.SpelledNames.Names[i])
		}
	}
	return list
}

func (r *Resolver) allNames() []string {
	var list []string
	for d, dev := range r.Site.Devices {
		list = append(list, r.Label(d), dev.Area)
		list = append(append(list, dev.FieldOfView...), entity.Rooms(dev.WorkAreas)...)
	}
	for _, c := range r.Catalog.Capabilities {
		list = append(list, c.ID)
	}
	return lexicon.Distinct(list)
}
