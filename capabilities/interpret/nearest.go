package interpret

import (
	"slices"

	"github.com/messkit/messkit/capabilities/lexicon"
)

// meantBy are the words of names here, or of orders, that a misspelt word is a letter away
// from.
func (r *Interpreter) meantBy(word string) (list []string) {
	if len(word) < 4 {
		return nil
	}
	meant := lexicon.NewSpelling(word)
	for _, known := range [][]lexicon.Spelling{r.nameSpellings, r.Catalog.Frames.Spelled} {
		for _, one := range known {
			if one.Word[0] != word[0] && one.Word[len(one.Word)-1] != word[len(word)-1] || meant.Apart(one) > 1 || !lexicon.IsSwapped(one.Word, word) && lexicon.Distance(word, one.Word) > 1 {
				continue
			}
			if !slices.Contains(list, one.Word) {
				list = append(list, one.Word)
			}
		}
	}
	slices.Sort(list)
	return list
}
