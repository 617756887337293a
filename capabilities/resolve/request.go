package resolve

import (
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// Resolver chooses the devices of one home. It is immutable and safe for concurrent use.
type Resolver struct {
	entity.Home
	SpelledNames lexicon.SpelledNames
	AbilityText  string   // a short text about the abilities of this home
	IDs          []string // of the capabilities that it has
}

// NewResolver makes a resolver for a home, with an index of all names.
func NewResolver(c *catalog.Catalog, home capabilities.Home) *Resolver {
	r := &Resolver{Home: *entity.NewHome(c, home)}
	r.SpelledNames = r.spell()
	r.AbilityText = r.examples()
	for _, one := range c.Capabilities {
		if r.reach(one) > 0 {
			r.IDs = append(r.IDs, one.ID)
		}
	}
	r.IDs = append(r.IDs, home.SiteCapabilities...)
	return r
}

// Request is a request while its hypotheses become one plan, a question or a refusal. It is
// not safe for concurrent use.
type Request struct {
	entity.Utterance
	Resolver     *Resolver
	Message      mess.Request
	Whole        []lexicon.Token // the text, of which passes take parts away
	InQuotes     bool            // its order is in quotation marks
	Given        mess.Object     // answers to earlier questions, by field
	Demand       Demand          // of requires and constraints
	Hypotheses   []Hypothesis
	Explain      capabilities.Trace
	Wait         *WaitCondition // the condition to wait for; nil for none
	ImageWords   string         // the words that ask for an image after the act, "" for none
	Exclusion    *Exclusion     // the excluded things; nil for none
	UnknownWords []string       // a plan without these words needs a confirmation
	Corrections  []string       // the known word for each of UnknownWords, if it is misspelled
	Disagrees    bool           // its words say another parameter than requires
	MaxSkips     int            // the largest number of unknown words that a hypothesis may skip
}
