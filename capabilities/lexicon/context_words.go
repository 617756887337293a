package lexicon

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
