package lexicon

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
