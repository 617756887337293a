package lexicon

import (
	"maps"
	"reflect"
	"slices"
	"time"
)

// WordLists are the words of a language that belong to no capability, as a catalog file
// lists them.
type WordLists struct {
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
	Measures     []string                 `yaml:"measures"` // units that are not units of time
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
	States    map[string]string `yaml:"states"` // the state that a yes/no question asks for, by the word for it
}

// ending is a rule of folding: a word that ends in From ends in To instead.
type ending struct {
	From string `yaml:"from"`
	To   string `yaml:"to"`
}

// Lexicon holds the compiled word lists of a language. Each phrase set has the name of its list.
// The set of a map holds the keys.
type Lexicon struct {
	Lists WordLists

	Fillers, Asking, Negations, Conditionals, Times, Awhile          *PhraseSet
	NoneOf, RuledOut, Rest, Last, LeavingOut, Listing                *PhraseSet
	Numbering, Amounting, Undecided, Recounting, Clock, Joining      *PhraseSet
	All, Near, Yes, No, Stop, Picking                                *PhraseSet
	Every, Lasting, Home, Facts, Delaying, FromNow                   *PhraseSet
	Ending, At, Affirming, Agreeing, Denying, Praising               *PhraseSet
	Indifferent, EndingTalk, Repeating, Reported, Telling, ToSpeaker *PhraseSet
	Pausing, Referring, Withdrawing, Pictures, Fetching, Earlier     *PhraseSet
	Spanning, SpanTo, Articles, Excepting, TimesOver, AnyOne         *PhraseSet
	Halting, Halted, OClock, Days, Tomorrow, Half                    *PhraseSet
	Fixed, Sun, Point, Toward, Per, Other                            *PhraseSet
	Again, OnDay, Hours, PastIs, PlainPast, HalfOf                   *PhraseSet
	Ahead, Afterwards, History, Ensuring, Minding, Recalling         *PhraseSet
	Lacking, Causing, Openly, TakingBack, Solely, Exactly            *PhraseSet
	Roughly, Placing, DayLong, Evenings, DayHalf                     *PhraseSet

	Past, Repeats *Trie[int]
	Numbers       *Trie[float64]
	Spelled       map[float64][]string // numbers in one word
	Units         map[string]time.Duration
	Weekday       map[string]int
	Measures      map[string]bool
	States        map[string]string // the state that a question asks for, by the word for it
}

// Merge takes over the lists of a later file.
func (w *Lexicon) Merge(later WordLists) { MergeLists(&w.Lists, later) }

// Keys returns the keys of a map in order.
func Keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Compile makes the phrase sets. Call it after the last file.
func (w *Lexicon) Compile() {
	CompileSets(w, &w.Lists, w)
	w.States, w.Weekday, w.Measures = w.Lists.States, map[string]int{}, map[string]bool{}
	for name, day := range w.Lists.Weekday {
		w.Weekday[w.Fold(name)] = day
	}
	for _, unit := range w.Lists.Measures {
		w.Measures[w.Fold(unit)] = true
	}
	w.Past = &Trie[int]{}
	for _, text := range Keys(w.Lists.Past) {
		w.Past.Add(w.Tokens(text), w.Lists.Past[text])
	}
	w.Repeats = &Trie[int]{}
	for _, text := range Keys(w.Lists.Repeats) {
		w.Repeats.Add(w.Tokens(text), w.Lists.Repeats[text])
	}
	w.Numbers, w.Spelled = &Trie[float64]{}, map[float64][]string{}
	for _, text := range Keys(w.Lists.Numbers) {
		t := w.Tokens(text)
		w.Numbers.Add(t, w.Lists.Numbers[text])
		if len(t) == 1 && w.Fillers.Longest(t, 0) == 0 {
			w.Spelled[w.Lists.Numbers[text]] = append(w.Spelled[w.Lists.Numbers[text]], text)
		}
	}
	w.Units = map[string]time.Duration{}
	for text, d := range w.Lists.Units {
		w.Units[w.Fold(text)] = d
	}
}

// MergeLists copies the fields of a later file into mine. A list replaces the earlier list of the
// same name. The entries of a map replace those with the same key. An empty field changes
// nothing.
func MergeLists[T any](mine *T, later T) {
	to, from := reflect.ValueOf(mine).Elem(), reflect.ValueOf(later)
	for i := range to.NumField() {
		if one := from.Field(i); !one.IsZero() {
			if one.Kind() == reflect.Map {
				one = mergedMap(to.Field(i), one)
			}
			to.Field(i).Set(one)
		}
	}
}

// mergedMap returns a map with the entries of both maps. Those of b win.
func mergedMap(a, b reflect.Value) reflect.Value {
	sum := reflect.MakeMap(b.Type())
	for _, m := range []reflect.Value{a, b} {
		for key, value := range m.Seq2() {
			sum.SetMapIndex(key, value)
		}
	}
	return sum
}

// CompileSets makes the phrase sets of the struct that into points to. The words of a set come
// from the field of the same name in the struct that lists points to: from a list, or from the
// keys of a map. Fields without a namesake stay as they are.
func CompileSets(w *Lexicon, lists, into any) {
	from, to := reflect.ValueOf(lists).Elem(), reflect.ValueOf(into).Elem()
	for i := range to.NumField() {
		if to.Type().Field(i).Type != reflect.TypeFor[*PhraseSet]() {
			continue
		}
		var list []string
		if one := from.FieldByName(to.Type().Field(i).Name); one.Kind() == reflect.Map {
			for key := range one.Seq() {
				list = append(list, key.String())
			}
		} else {
			list = one.Interface().([]string)
		}
		to.Field(i).Set(reflect.ValueOf(w.Set(list)))
	}
}

// Merged returns a map with the entries of both maps. Those of b win.
func Merged[V any](a, b map[string]V) map[string]V {
	a = maps.Clone(a)
	if a == nil {
		a = map[string]V{}
	}
	maps.Copy(a, b)
	return a
}

// ContextLists are the words that classify a line of the context of a request, as a catalog file
// lists them.
type ContextLists struct {
	Binding  []string `yaml:"binding"`
	Warning  []string `yaml:"warning"`
	Being    []string `yaml:"being"`
	Subjects []string `yaml:"subjects"`
	Litter   []string `yaml:"litter"`
	Leaving  []string `yaml:"leaving"`
	AtOnce   []string `yaml:"at_once"`
	Corrects []string `yaml:"corrects"`
}

// ContextLexicon holds the compiled ContextLists.
type ContextLexicon struct {
	Lists ContextLists

	Binding, Warning, Being, Subjects, Litter, Leaving, AtOnce, Corrects *PhraseSet
}

// WaitLists are the words of a request for a notification about an event, as a catalog file lists
// them.
type WaitLists struct {
	Tell     []string `yaml:"tell"`
	Photo    []string `yaml:"photo"`    // the same, with an image
	Of       []string `yaml:"of"`       // behind those, without a meaning of its own
	When     []string `yaml:"when"`     // before an event
	Wait     []string `yaml:"wait"`     // tell and when in one
	Watch    []string `yaml:"watch"`    // before a thing
	Until    []string `yaml:"until"`    // behind the thing, and before an event
	Within   []string `yaml:"within"`   // before a length of time
	Anything []string `yaml:"anything"` // behind tell, if the text has named the thing already

	Words map[string][]string `yaml:"words"` // slots that take some words
}

// WaitLexicon holds the compiled WaitLists.
type WaitLexicon struct {
	Lists WaitLists

	Words                                                       map[string]*PhraseSet
	Tell, Photo, Of, When, Wait, Watch, Until, Within, Anything *PhraseSet
}

// Compile makes the phrase sets. Call it after the last file.
func (w *WaitLexicon) Compile(words *Lexicon) {
	CompileSets(words, &w.Lists, w)
	w.Words = map[string]*PhraseSet{}
	for name, list := range w.Lists.Words {
		w.Words[name] = words.Set(list)
	}
}

// AddWords adds all words to a set.
func (w *WaitLexicon) AddWords(into map[string]bool) {
	for _, s := range []*PhraseSet{w.Tell, w.Photo, w.Of, w.When, w.Wait, w.Watch, w.Until, w.Within, w.Anything} {
		s.AddWords(into)
	}
	for _, s := range w.Words {
		s.AddWords(into)
	}
}

// CourtesyLists are the words of a letter around its request, as a catalog file lists
// them.
type CourtesyLists struct {
	Greetings []string `yaml:"greetings"` // before a name: "dear house"
	Closings  []string `yaml:"closings"`  // before a name, at the end: "best regards, Anna"
	Wishes    []string `yaml:"wishes"`    // whole parts that ask for nothing: "how are you"
	Haste     []string `yaml:"haste"`     // whole parts that express urgency
	Ranks     []string `yaml:"ranks"`     // before one of several orders: "first", "then"
	Reasons   []string `yaml:"reasons"`   // before a reason: "as it is dark"
	Causes    []string `yaml:"causes"`    // the reasons within a sentence: "because"
	Hence     []string `yaml:"hence"`     // before an order, behind a reason: "so"
	Quoting   []string `yaml:"quoting"`   // the end of a line above a quotation: "wrote"
	Heads     []string `yaml:"heads"`     // the begin of a line in a mail header: "subject"
	Reporting []string `yaml:"reporting"` // verbs of reported speech, which the interpreter never obeys: "told"
	Tellers   []string `yaml:"tellers"`   // subjects of a report: "I just came home"
}

// CourtesyLexicon holds the compiled CourtesyLists.
type CourtesyLexicon struct {
	Lists CourtesyLists

	Greetings, Closings, Wishes, Haste, Ranks, Reasons *PhraseSet
	Hence, Quoting, Heads, Tellers, Reporting          *PhraseSet
}
