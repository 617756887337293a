package discovery

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/internal/config"
)

// longestLabel is the longest label, in characters.
const longestLabel = 60

// labelled writes the owner's name of each device as its label, if no other device has it.
// messkit would reject a configuration with one name for two devices.
func addLabels(list []Discovered) {
	has := map[string]int{}
	for _, d := range list {
		if d.Config == nil {
			continue
		}
		name, label := config.Spoken(d.Name), config.Spoken(d.Label)
		has[name]++
		if label != name {
			has[label]++
		}
	}
	for i, d := range list {
		switch label := config.Spoken(d.Label); {
		case d.Config == nil || label == config.Spoken(d.Name) || !isLabel(d.Label):
		case has[label] > 1:
			list[i].Where += fmt.Sprintf("; it calls itself %q, as another here does: write a label", d.Label)
		default:
			d.Config["label"] = d.Label
		}
	}
}

// isLabel reports whether a text can be a label: one line of words that is not only a word
// for many things.
func isLabel(label string) bool {
	if utf8.RuneCountInString(label) > longestLabel || !plain(map[string]string{"": label}) || !strings.ContainsFunc(label, unicode.IsLetter) {
		return false
	}
	called := config.Spoken(label)
	return strings.Contains(called, " ") || !catalog.Default().HasClass(called)
}
