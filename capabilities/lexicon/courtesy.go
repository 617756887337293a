package lexicon

// CourtesyLists are the words of a letter around its request, as a catalog file lists
// them.
type CourtesyLists struct {
	Greetings []string `yaml:"greetings"` // before a name: "dear house"
	Closings  []string `yaml:"closings"`  // before a name, at the end: "best regards, Anna"
	Wishes    []string `yaml:"wishes"`    // whole parts that ask for nothing: "how are you"
	Haste     []string `yaml:"haste"`     // whole parts that say that it is urgent
	Ranks     []string `yaml:"ranks"`     // before one of several orders: "first", "then"
	Reasons   []string `yaml:"reasons"`   // before why it is asked: "as it is dark"
	Causes    []string `yaml:"causes"`    // those of them that stand within a sentence: "because"
	Hence     []string `yaml:"hence"`     // before what is asked for, behind a reason: "so"
	Quoting   []string `yaml:"quoting"`   // how a line ends above what is quoted: "wrote"
	Heads     []string `yaml:"heads"`     // what a line of a mail's head begins with: "subject"
	Reporting []string `yaml:"reporting"` // of what somebody has said, which is never obeyed: "told"
	Tellers   []string `yaml:"tellers"`   // who tells something: "I just came home"
}

// CourtesyLexicon are the compiled courtesyLists.
type CourtesyLexicon struct {
	Lists CourtesyLists

	Greetings, Closings, Wishes, Haste, Ranks, Reasons *PhraseSet
	Hence, Quoting, Heads, Tellers, Reporting          *PhraseSet
}
