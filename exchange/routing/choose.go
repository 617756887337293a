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

// Limits of the offers in one rank.
const (
	firstWidth = 16             // executors that get the first offers
	widerBy    = 4              // factor of growth after each widerAfter
	widerAfter = time.Second    //
	wideAfter  = 3 * widerAfter // then all executors get an offer
	enough     = 64             // an executor with so many offers gets no later ones
	fewLook    = 1024           // executors that a selection looks at to find those with the fewest offers
)

// Presence reports the states of executors that change more often than the table.
type Presence interface {
	IsLive(e *Executor) bool
	IsDrained(id string) bool // it takes nothing new
	Load(id string) int       // number of its claims and offers
}

// Waiting describes how a thread waits for its claim.
type Waiting struct {
	Offered   []string      // ids of the executors with an offer
	For       time.Duration // time since it became pending
	OfferTime time.Duration // time that a rank has an offer for itself
}

// Choice says which executors get an offer.
type Choice struct {
	IDs []string // the first rank first
	// AtLimit has the executors that get no offer because they have enough others.
	AtLimit []string
	Coverage
}

// Coverage says which ranks and executors a choice covers, and so what may change it later.
type Coverage struct {
	// MoreRanks is true if other ranks get their turn later.
	MoreRanks bool
	// Wider is the time after which more executors of the same rank get an offer; 0 if all have
	// one, or have enough others.
	Wider time.Duration
	// Last is the last rank with an offer. Full is true if enough live executors have an offer, so
	// that one more of this or a later rank changes nothing. Wide is true if every live executor of
	// the rank gets an offer, unless it has enough others.
	Last       int
	Full, Wide bool
}

// Choose returns the candidates that get an offer now, the preferred ones first. The next rank
// follows when the time of the present one is over, if it had a live executor. Choose skips drained
// executors. In a large rank it takes a few live executors with the fewest offers, and soon more.
// So the cost of a request does not grow with the number of executors.
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

// choosing is a Choice in the making.
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

// widths returns how many executors of a rank get an offer in any case, how many get one unless
// they have enough others, and when the second number grows. Each decline adds the first number
// again.
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

// selection selects the executors of one large rank that get an offer.
type selection struct {
	*choosing
	rank, base, width int

	ids  []string
	live int
	busy []*Executor // live executors with other offers
	away []*Executor
	left bool // some live executors have no offer, or look did not reach them
}

// keep takes the executors that have an offer already. It withdraws none for the sake of another.
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

// look goes through the rank from a start that differs between threads, and takes live executors
// without other offers.
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

// fill takes the executors with the fewest offers. If too few are live, it takes some that are not:
// they find the offer when they come back.
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
			s.AtLimit = append(s.AtLimit, e.ID)
		}
	}
	s.left = s.left || len(s.busy) > 0 || len(s.away) > n
}

// spread returns a number that differs between requests.
func spread(t time.Time) uint64 { return uint64(t.UnixNano()) * 0x9e3779b97f4a7c15 >> 32 }

// ranking orders the executors by the first rule that matches a request. The exchange asks a lower
// rank earlier, and all executors of a rank at once. Robots come before people that no rule names.
// The executor to which a holder has delegated the request comes first.
type ranking struct {
	delegatedTo string
	prefer      []string
	measure     string // field with a number by which the rule orders executors; "" for none
	most        bool   // the highest number comes first
	values      []float64
	rest        int // rank of the robots without a rule
}

// Rank returns a function that returns the rank of an executor for a request.
func (r Request) Rank() func(*Executor) int { return r.table.ranking(r).rank }

// Joins reports whether one more executor gets an offer of a wide request, and whether it could
// with fewer other offers.
func (r Request) Joins(e *Executor, rank int, p Presence) (joins, could bool) {
	could = r.table.ranking(r).rank(e) == rank && p.IsLive(e) && !p.IsDrained(e.ID) && r.isCandidate(e)
	return could && p.Load(e.ID) < enough, could
}

func (t *Table) ranking(r Request) ranking {
	k := ranking{delegatedTo: r.env.DelegatedTo}
	for _, rule := range t.rules {
		if !matches(rule.Match, r.env.Needs) {
			continue
		}
		if len(rule.Prefer) == 1 && (rule.Prefer[0] == mess.LowerLatency || rule.Prefer[0] == mess.HigherPrecision) {
			k.most = rule.Prefer[0] == mess.HigherPrecision
			k.measure = strings.TrimPrefix(strings.TrimPrefix(rule.Prefer[0], "lower_"), "higher_")
			k.measured(r.smallestGroup())
			return k
		}
		k.prefer, k.rest = rule.Prefer, len(rule.Prefer)
		return k
	}
	return k
}

// measured reads the values of the possible candidates.
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
	if e.ID == k.delegatedTo {
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

// levels yields the ranks in order, each with a list that contains its executors.
func (c *choosing) levels() iter.Seq2[int, []*Executor] {
	return func(yield func(int, []*Executor) bool) {
		k, g := c.ranking, c.smallestGroup()
		named := append([]string{k.delegatedTo}, k.prefer...)
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

// byValues groups the executors with the same value, the first rank first.
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
