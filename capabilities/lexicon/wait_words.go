package lexicon

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
