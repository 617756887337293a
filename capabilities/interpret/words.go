package interpret

import (
	"maps"
	"slices"
	"time"
)

// words are the words of a language that no capability owns.
type words struct {
	Language     string                   `yaml:"language"` // as ISO 639-1: "en"
	Fillers      []string                 `yaml:"fillers"`
	Asking       []string                 `yaml:"asking"`
	Negations    []string                 `yaml:"negations"`
	Conditionals []string                 `yaml:"conditionals"`
	Times        []string                 `yaml:"times"`
	Clock        []string                 `yaml:"clock"`
	Joining      []string                 `yaml:"joining"`
	All          []string                 `yaml:"all"`
	Yes          []string                 `yaml:"yes"`
	No           []string                 `yaml:"no"`
	Stop         []string                 `yaml:"stop"`
	Ordinals     []string                 `yaml:"ordinals"`
	Picking      []string                 `yaml:"picking"`
	Every        []string                 `yaml:"every"`
	Contractions map[string]string        `yaml:"contractions"`
	Endings      []ending                 `yaml:"endings"`
	Numbers      map[string]float64       `yaml:"numbers"`
	Units        map[string]time.Duration `yaml:"units"`
	Near         []string                 `yaml:"near"`
	Lasting      []string                 `yaml:"lasting"`
	Home         []string                 `yaml:"home"`
	Facts        []string                 `yaml:"facts"`
	Counts       map[string]int           `yaml:"counts"`
	Show         []string                 `yaml:"show"`
	Affirming    []string                 `yaml:"affirming"`
	Agreeing     []string                 `yaml:"agreeing"`
	Praising     []string                 `yaml:"praising"`
	Denying      []string                 `yaml:"denying"`
	Indifferent  []string                 `yaml:"indifferent"`
	EndingTalk   []string                 `yaml:"ending_talk"`
	Delaying     []string                 `yaml:"delaying"`
	FromNow      []string                 `yaml:"from_now"`
	Ending       []string                 `yaml:"ending"`
	At           []string                 `yaml:"at"`
	OClock       []string                 `yaml:"oclock"`
	Repeating    []string                 `yaml:"repeating"`
	Reported     []string                 `yaml:"reported"`
	Telling      []string                 `yaml:"telling"`
	ToSpeaker    []string                 `yaml:"to_speaker"`
	Pausing      []string                 `yaml:"pausing"`
	Referring    []string                 `yaml:"referring"`
	Withdrawing  []string                 `yaml:"withdrawing"`
	Pictures     []string                 `yaml:"pictures"`
	Fetching     []string                 `yaml:"fetching"`
	Earlier      []string                 `yaml:"earlier"`
	Leading      []string                 `yaml:"leading"`
	Spanning     []string                 `yaml:"spanning"`
	SpanTo       []string                 `yaml:"span_to"`
	AnyOne       []string                 `yaml:"any_one"`
	Articles     []string                 `yaml:"articles"`
	Excepting    []string                 `yaml:"excepting"`
	TimesOver    []string                 `yaml:"times_over"`
	Repeats      map[string]int           `yaml:"repeats"` // how many times
	Halting      []string                 `yaml:"halting"`
	Halted       []string                 `yaml:"halted"`
	Days         []string                 `yaml:"days"`
	Tomorrow     []string                 `yaml:"tomorrow"`
	Half         map[string]int           `yaml:"halves"` // hours that it adds
	Fixed        map[string]int           `yaml:"fixed"`  // minutes of the day
	Past         map[string]int           `yaml:"past"`   // minutes
	Sun          map[string]string        `yaml:"suns"`   // up, down, dawn or dusk
	Point        []string                 `yaml:"point"`
	Measures     []string                 `yaml:"measures"` // units that nothing is timed in
	Toward       []string                 `yaml:"toward"`
	Evenings     []string                 `yaml:"evenings"`
	DayHalf      map[string]int           `yaml:"day_halves"` // hours that it adds, of a part of a day
	Weekday      map[string]int           `yaml:"weekdays"`
	Per          []string                 `yaml:"per"`
	Other        []string                 `yaml:"every_other"`
	Again        []string                 `yaml:"again"`
	OnDay        []string                 `yaml:"on_day"`
	Hours        []string                 `yaml:"hours"`
	NoneOf       []string                 `yaml:"none_of"`
	RuledOut     []string                 `yaml:"ruled_out"`
	Rest         []string                 `yaml:"rest"`
	Last         []string                 `yaml:"last"`
	Awhile       []string                 `yaml:"awhile"`

	LeavingOut []string `yaml:"leaving_out"`
	Listing    []string `yaml:"listing"`
	Numbering  []string `yaml:"numbering"`
	Amounting  []string `yaml:"amounting"`
	Undecided  []string `yaml:"undecided"`
	Recounting []string `yaml:"recounting"`

	PastIs     []string `yaml:"past_is"`
	PlainPast  []string `yaml:"plain_past"`
	HalfOf     []string `yaml:"half_of"`
	Ahead      []string `yaml:"ahead"`
	Afterwards []string `yaml:"afterwards"`
	Causing    []string `yaml:"causing"`
	TakingBack []string `yaml:"taking_back"`
	Solely     []string `yaml:"solely"`
	Exactly    []string `yaml:"exactly"`
	Roughly    []string `yaml:"roughly"`
	Attached   []string `yaml:"attached"`
	Placing    []string `yaml:"placing"`
	DayLong    []string `yaml:"day_long"`

	Openly    []string          `yaml:"open_questions"`
	Recalling []string          `yaml:"recalling"`
	Lacking   []string          `yaml:"lacking"`
	History   []string          `yaml:"history"`
	Ensuring  []string          `yaml:"ensuring"`
	Minding   []string          `yaml:"minding"`
	States    map[string]string `yaml:"states"` // what is asked for with yes or no, by the word for it

	takingBack, solely, exactly, roughly      *set
	placing, dayLong                          *set
	onDay, hours, pastIs, plainPast, halfOf   *set
	ahead, afterwards, causing, openly        *set
	history, ensuring, minding                *set
	recalling, lacking                        *set
	point, toward, per, other, again, dayHalf *set
	noneOf, ruledOut, rest, last, indefinite  *set
	leavingOut, listing, numbering, amounting *set
	undecided, recounting                     *set
	weekday                                   map[string]int
	measures                                  map[string]bool
	states                                    map[string]string

	filler, asking, negation, conditional, times, clock, joining    *set
	all, yes, no, stop, picking, every, near, lasting, home, facts  *set
	delaying, fromNow, ending, at, oclock, day, tomorrow            *set
	evening, telling, toSpeaker                                     *set
	repeating, reported, pausing, referring, spanning, spanTo       *set
	withdrawing, pictures, fetching, earlier                        *set
	anyOne, halting, halted, article, excepting, timesOver          *set
	half, fixed, sun                                                *set
	affirming, agreeing, denying, indifferent, endingTalk, praising *set
	past, repeat                                                    *phrases[int]
	number                                                          *phrases[float64]
	spelled                                                         map[float64][]string // numbers in one word
	unit                                                            map[string]time.Duration
}

// ending is a rule of folding: words that end in From end in To instead.
type ending struct {
	From string `yaml:"from"`
	To   string `yaml:"to"`
}

func (w *words) lists() []*[]string {
	return []*[]string{
		&w.Fillers, &w.Asking, &w.Negations, &w.Conditionals, &w.Times, &w.Clock, &w.Joining, &w.All,
		&w.Yes, &w.No, &w.Stop, &w.Ordinals, &w.Picking, &w.Every, &w.Near, &w.Lasting, &w.Home, &w.Facts, &w.Show,
		&w.Affirming, &w.Agreeing, &w.Praising, &w.Denying, &w.Indifferent, &w.EndingTalk,
		&w.Delaying, &w.FromNow, &w.Ending, &w.At, &w.OClock, &w.Days, &w.Tomorrow, &w.Repeating, &w.Reported, &w.Pausing, &w.Referring, &w.Withdrawing, &w.Pictures, &w.Fetching, &w.Earlier, &w.Leading, &w.Spanning, &w.SpanTo, &w.AnyOne,
		&w.Halting, &w.Halted, &w.Articles, &w.Excepting, &w.TimesOver, &w.Point, &w.Measures, &w.Toward, &w.Per, &w.Other, &w.Again, &w.OnDay, &w.Hours, &w.PastIs, &w.PlainPast, &w.HalfOf, &w.Ahead, &w.Afterwards, &w.Causing, &w.Openly, &w.Recalling, &w.Lacking, &w.History, &w.Ensuring, &w.Minding,
		&w.NoneOf, &w.RuledOut, &w.Rest, &w.Last, &w.Awhile, &w.LeavingOut, &w.Listing, &w.Numbering, &w.Amounting, &w.Undecided, &w.Recounting, &w.Telling, &w.ToSpeaker, &w.Evenings,
		&w.TakingBack, &w.Solely, &w.Exactly, &w.Roughly, &w.Attached, &w.Placing, &w.DayLong,
	}
}

// merge takes over what the later file says.
func (w *words) merge(later words) {
	mine, theirs := w.lists(), later.lists()
	for i := range mine {
		if *theirs[i] != nil {
			*mine[i] = *theirs[i]
		}
	}
	if later.Language != "" {
		w.Language = later.Language
	}
	w.Contractions = merged(w.Contractions, later.Contractions)
	w.Numbers = merged(w.Numbers, later.Numbers)
	w.Units = merged(w.Units, later.Units)
	w.Counts, w.Repeats = merged(w.Counts, later.Counts), merged(w.Repeats, later.Repeats)
	w.Half, w.Fixed, w.Past, w.Sun = merged(w.Half, later.Half), merged(w.Fixed, later.Fixed), merged(w.Past, later.Past), merged(w.Sun, later.Sun)
	w.DayHalf, w.Weekday = merged(w.DayHalf, later.DayHalf), merged(w.Weekday, later.Weekday)
	w.States = merged(w.States, later.States)
	if later.Endings != nil {
		w.Endings = later.Endings
	}
}

func merged[V any](a, b map[string]V) map[string]V {
	a = maps.Clone(a)
	if a == nil {
		a = map[string]V{}
	}
	maps.Copy(a, b)
	return a
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// compile makes the phrases, when all files are read.
func (w *words) compile() {
	w.filler, w.asking = w.set(w.Fillers), w.set(w.Asking)
	w.negation, w.conditional, w.times = w.set(w.Negations), w.set(w.Conditionals), w.set(w.Times)
	w.indefinite = w.set(w.Awhile)
	w.noneOf, w.ruledOut, w.rest, w.last = w.set(w.NoneOf), w.set(w.RuledOut), w.set(w.Rest), w.set(w.Last)
	w.leavingOut, w.listing, w.numbering = w.set(w.LeavingOut), w.set(w.Listing), w.set(w.Numbering)
	w.amounting, w.undecided, w.recounting = w.set(w.Amounting), w.set(w.Undecided), w.set(w.Recounting)
	w.clock, w.joining, w.all, w.near = w.set(w.Clock), w.set(w.Joining), w.set(w.All), w.set(w.Near)
	w.yes, w.no, w.stop = w.set(w.Yes), w.set(w.No), w.set(w.Stop)
	w.picking, w.every = w.set(w.Picking), w.set(w.Every)
	w.lasting, w.home, w.facts = w.set(w.Lasting), w.set(w.Home), w.set(w.Facts)
	w.delaying, w.fromNow, w.ending, w.at = w.set(w.Delaying), w.set(w.FromNow), w.set(w.Ending), w.set(w.At)
	w.affirming, w.agreeing, w.denying = w.set(w.Affirming), w.set(w.Agreeing), w.set(w.Denying)
	w.praising = w.set(w.Praising)
	w.indifferent, w.endingTalk = w.set(w.Indifferent), w.set(w.EndingTalk)
	w.repeating, w.reported = w.set(w.Repeating), w.set(w.Reported)
	w.telling, w.toSpeaker = w.set(w.Telling), w.set(w.ToSpeaker)
	w.pausing, w.referring = w.set(w.Pausing), w.set(w.Referring)
	w.withdrawing, w.pictures = w.set(w.Withdrawing), w.set(w.Pictures)
	w.fetching, w.earlier = w.set(w.Fetching), w.set(w.Earlier)
	w.spanning, w.spanTo = w.set(w.Spanning), w.set(w.SpanTo)
	w.article, w.excepting, w.timesOver = w.set(w.Articles), w.set(w.Excepting), w.set(w.TimesOver)
	w.anyOne, w.halting, w.halted = w.set(w.AnyOne), w.set(w.Halting), w.set(w.Halted)
	w.oclock, w.day, w.tomorrow = w.set(w.OClock), w.set(w.Days), w.set(w.Tomorrow)
	w.half, w.fixed, w.sun = w.set(keys(w.Half)), w.set(keys(w.Fixed)), w.set(keys(w.Sun))
	w.point, w.toward, w.per, w.other, w.again = w.set(w.Point), w.set(w.Toward), w.set(w.Per), w.set(w.Other), w.set(w.Again)
	w.onDay, w.hours, w.pastIs = w.set(w.OnDay), w.set(w.Hours), w.set(w.PastIs)
	w.plainPast, w.halfOf, w.ahead, w.afterwards = w.set(w.PlainPast), w.set(w.HalfOf), w.set(w.Ahead), w.set(w.Afterwards)
	w.history, w.ensuring, w.minding = w.set(w.History), w.set(w.Ensuring), w.set(w.Minding)
	w.recalling, w.lacking = w.set(w.Recalling), w.set(w.Lacking)
	w.causing, w.openly, w.states = w.set(w.Causing), w.set(w.Openly), w.States
	w.takingBack, w.solely = w.set(w.TakingBack), w.set(w.Solely)
	w.exactly, w.roughly, w.placing = w.set(w.Exactly), w.set(w.Roughly), w.set(w.Placing)
	w.dayLong = w.set(w.DayLong)
	w.evening = w.set(w.Evenings)
	w.dayHalf, w.weekday, w.measures = w.set(keys(w.DayHalf)), map[string]int{}, map[string]bool{}
	for name, day := range w.Weekday {
		w.weekday[w.fold(name)] = day
	}
	for _, unit := range w.Measures {
		w.measures[w.fold(unit)] = true
	}
	w.past = &phrases[int]{}
	for _, text := range keys(w.Past) {
		w.past.add(w.tokens(text), w.Past[text])
	}
	w.repeat = &phrases[int]{}
	for _, text := range keys(w.Repeats) {
		w.repeat.add(w.tokens(text), w.Repeats[text])
	}
	w.number, w.spelled = &phrases[float64]{}, map[float64][]string{}
	for _, text := range slices.Sorted(maps.Keys(w.Numbers)) {
		t := w.tokens(text)
		w.number.add(t, w.Numbers[text])
		if len(t) == 1 && w.filler.longest(t, 0) == 0 {
			w.spelled[w.Numbers[text]] = append(w.spelled[w.Numbers[text]], text)
		}
	}
	w.unit = map[string]time.Duration{}
	for text, d := range w.Units {
		w.unit[w.fold(text)] = d
	}
}
