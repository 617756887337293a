package routing

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// Bounds of how many of a rank are offered a request.
const (
	firstWidth = 16             // at first
	widerBy    = 4              // times as many after each widerAfter
	widerAfter = time.Second    //
	wideAfter  = 3 * widerAfter // and from then on all
	enough     = 64             // later ones go to nobody who has so many
	fewLook    = 1024           // look at so many to find those with the fewest offers
)

// Presence tells what of an executor changes more often than the table.
type Presence interface {
	IsLive(e *Executor) bool
	IsDrained(id string) bool // it takes nothing new
	Load(id string) int       // how many threads it holds, or has an offer of
}

// Waiting is how a thread waits for its claim.
type Waiting struct {
	Offered   []string      // who has an offer now, by id
	For       time.Duration // how long it has been waiting
	OfferTime time.Duration // how long a rank has an offer for itself
}

// Choice is who is to have an offer.
type Choice struct {
	IDs []string // the first rank first
	// MoreRanks says that there are others, whose turn comes with time.
	MoreRanks bool
	// Wider is in how long more of the same rank get an offer; 0 if all have one, or
	// have enough of others.
	Wider time.Duration
	// Sated are those who get no offer because they have enough of others.
	Sated []string
	// Last is the last rank that is asked. Full says that no other executor of it, or of
	// a later one, changes the choice by being there: enough who are live have an offer.
	// Wide says that each of it that is there gets an offer, unless it has enough.
	Last       int
	Full, Wide bool
}

// Choose returns the candidates whose turn it is: the preferred ones first. The turn of the
// next rank comes when the one before has had its time, if an executor of it was there.
// Choose passes over those that take nothing new. Of a large rank it takes a few that are
// live and have the fewest offers, and more of them soon: a request costs the same beside
// many executors.
func (r Request) Choose(p Presence, w Waiting) Choice {
	c := choosing{Request: r, presence: p, Waiting: w, ranking: r.table.ranking(r)}
	open := 1 + int(w.For/w.OfferTime)
	liveBefore, first := false, true
	for rank, list := range c.levels() {
		if !first && liveBefore && open == 1 {
			if c.MoreRanks = slices.ContainsFunc(list, func(e *Executor) bool { return c.valid(e, rank) }); c.MoreRanks {
				break
			}
			continue
		}
		full, wide := c.Full, c.Wide
		asked, live := c.ofRank(rank, list)
		if len(asked) == 0 {
			c.Full, c.Wide = full, wide
			continue
		}
		if !first && liveBefore {
			open--
		}
		c.IDs = append(c.IDs, asked...)
		c.Last = rank
		liveBefore, first = live, false
	}
	return c.Choice
}

// choosing is a choice while it is made.
type choosing struct {
	Request
	Waiting
	Choice
	ranking  ranking
	presence Presence
}

func (c *choosing) valid(e *Executor, rank int) bool {
	return c.ranking.rank(e) == rank && !c.presence.IsDrained(e.ID) && c.isCandidate(e)
}

// widths returns how many of a rank get an offer whatever other offers they have, how many
// get one unless they have enough, and when the second number grows. Each executor that has
// declined makes room for as many as there were at first.
func (c *choosing) widths() (base, width int, next time.Duration) {
	base = firstWidth + firstWidth*len(c.env.Declined)
	if c.For >= wideAfter {
		return base, math.MaxInt, 0
	}
	steps := c.For / widerAfter
	width = base
	for range steps {
		width *= widerBy
	}
	return base, width, (steps+1)*widerAfter - c.For
}

// ofRank returns the executors of one rank that get an offer, and whether one of them is
// live.
func (c *choosing) ofRank(rank int, list []*Executor) (ids []string, live bool) {
	c.Full, c.Wide = false, false
	base, width, next := c.widths()
	if len(list) <= base {
		for _, e := range list {
			if c.valid(e, rank) {
				ids = append(ids, e.ID)
				live = live || c.presence.IsLive(e)
			}
		}
		return ids, live
	}
	s := selection{choosing: c, rank: rank, base: base, width: width}
	s.keep()
	s.look(list)
	s.fill()
	if next > 0 && s.left {
		c.Wider = cmp.Or(min(c.Wider, next), next)
	}
	c.Full, c.Wide = s.left && s.live >= width, next == 0
	return s.ids, s.live > 0
}

// selection is who of one large rank gets an offer.
type selection struct {
	*choosing
	rank, base, width int

	ids  []string
	live int
	busy []*Executor // live, and have other offers
	away []*Executor
	left bool // some have no offer, or look did not see them
}

// keep takes those who have an offer already: it takes none back for the sake of another.
func (s *selection) keep() {
	for _, id := range s.Offered {
		if e := s.table.Executor(id); e != nil && s.valid(e, s.rank) {
			s.take(e, s.presence.IsLive(e))
		}
	}
}

func (s *selection) take(e *Executor, live bool) {
	s.ids = append(s.ids, e.ID)
	if live {
		s.live++
	}
}

// look goes round the rank, from a place that differs from thread to thread, and takes
// those who are live and have no other offer.
func (s *selection) look(list []*Executor) {
	kept := len(s.ids)
	begin := int(spread(s.env.Created) % uint64(len(list)))
	for i := range list {
		if s.live >= s.width || i >= fewLook && s.live+len(s.busy) >= s.width {
			s.left = true
			return
		}
		e := list[(begin+i)%len(list)]
		if _, has := slices.BinarySearch(s.ids[:kept], e.ID); has || !s.valid(e, s.rank) {
			continue
		}
		switch load := s.presence.Load(e.ID); {
		case !s.presence.IsLive(e):
			s.away = append(s.away, e)
		case load == 0 || s.width == math.MaxInt && load < enough:
			s.take(e, true)
		default:
			s.busy = append(s.busy, e)
		}
	}
}

// fill takes those with the fewest offers, and if there are too few who are live, some
// who are not: they find the offer when they come.
func (s *selection) fill() {
	if s.live < s.width {
		slices.SortStableFunc(s.busy, func(a, b *Executor) int { return s.presence.Load(a.ID) - s.presence.Load(b.ID) })
	}
	for len(s.busy) > 0 && (s.live < s.base || s.live < s.width && s.presence.Load(s.busy[0].ID) < enough) {
		s.take(s.busy[0], true)
		s.busy = s.busy[1:]
	}
	n := min(max(0, s.base-len(s.ids)), len(s.away))
	for _, e := range s.away[:n] {
		s.take(e, false)
	}
	if s.width == math.MaxInt {
		for _, e := range s.busy {
			s.Sated = append(s.Sated, e.ID)
		}
	}
	s.left = s.left || len(s.busy) > 0 || len(s.away) > n
}

// spread is a number that differs from request to request.
func spread(t time.Time) uint64 { return uint64(t.UnixNano()) * 0x9e3779b97f4a7c15 >> 32 }

// ranking orders the executors by the first rule that matches a request. The exchange asks
// a lower rank earlier, and one rank at once. Robots come before people whom no rule names.
// The executor that a holder has handed the request to comes first.
type ranking struct {
	handedTo string
	prefer   []string
	measure  string // a number that executors say of themselves; "" for none
	most     bool   // the highest of it comes first
	values   []float64
	rest     int // rank of the robots that no rule names
}

// Rank returns a function that tells the rank of an executor for a request.
func (r Request) Rank() func(*Executor) int { return r.table.ranking(r).rank }

// Joins reports whether an executor that has no offer of a wide request gets one, and
// whether it could if it had fewer of others.
func (r Request) Joins(e *Executor, rank int, p Presence) (joins, could bool) {
	could = r.table.ranking(r).rank(e) == rank && p.IsLive(e) && !p.IsDrained(e.ID) && r.isCandidate(e)
	return could && p.Load(e.ID) < enough, could
}

func (t *Table) ranking(r Request) ranking {
	k := ranking{handedTo: r.env.HandedTo}
	for _, rule := range t.rules {
		if !matches(rule.Match, r.env.Needs) {
			continue
		}
		if len(rule.Prefer) == 1 && (rule.Prefer[0] == mess.LowerLatency || rule.Prefer[0] == mess.HigherPrecision) {
			k.most = rule.Prefer[0] == mess.HigherPrecision
			k.measure = strings.TrimPrefix(strings.TrimPrefix(rule.Prefer[0], "lower_"), "higher_")
			k.measured(r.able())
			return k
		}
		k.prefer, k.rest = rule.Prefer, len(rule.Prefer)
		return k
	}
	return k
}

// measured reads the values of those who might be asked.
func (k *ranking) measured(g *group) {
	for _, list := range [][]*Executor{g.robots, g.people} {
		for _, e := range list {
			if v, ok := Number(e.Extra, k.measure); ok {
				k.values = append(k.values, v)
			}
		}
	}
	slices.Sort(k.values)
	k.values = slices.Compact(k.values)
	if k.most {
		slices.Reverse(k.values)
	}
	k.rest = len(k.values)
}

func (k ranking) rank(e *Executor) int {
	if e.ID == k.handedTo {
		return -1
	}
	if k.measure != "" {
		if v, ok := Number(e.Extra, k.measure); ok {
			return k.byValue(v)
		}
	} else if i := slices.Index(k.prefer, e.ID); i >= 0 {
		return i
	}
	if e.Person {
		return k.rest + 1
	}
	return k.rest
}

func (k ranking) byValue(v float64) int {
	i, _ := slices.BinarySearchFunc(k.values, v, func(a, b float64) int {
		if k.most {
			return cmp.Compare(b, a)
		}
		return cmp.Compare(a, b)
	})
	return i
}

// levels are the ranks in order, each with executors among whom those of the rank are.
func (c *choosing) levels() iter.Seq2[int, []*Executor] {
	return func(yield func(int, []*Executor) bool) {
		k, g := c.ranking, c.able()
		named := append([]string{k.handedTo}, k.prefer...)
		for i, id := range named {
			if e := c.table.Executor(id); e != nil && k.rank(e) == i-1 && !yield(i-1, []*Executor{e}) {
				return
			}
		}
		for _, of := range k.byValues(g) {
			if !yield(k.rank(of[0]), of) {
				return
			}
		}
		_ = yield(k.rest, g.robots) && yield(k.rest+1, g.people)
	}
}

// byValues are the executors that have the same value, the first rank first.
func (k ranking) byValues(g *group) [][]*Executor {
	if k.measure == "" {
		return nil
	}
	lists := make([][]*Executor, len(k.values))
	for _, list := range [][]*Executor{g.robots, g.people} {
		for _, e := range list {
			if r := k.rank(e); r >= 0 && r < len(k.values) {
				lists[r] = append(lists[r], e)
			}
		}
	}
	return slices.DeleteFunc(lists, func(l []*Executor) bool { return len(l) == 0 })
}
