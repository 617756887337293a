package discovery

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/internal/config"
)

// longestLabel is how long a name may be that people say.
const longestLabel = 60

// labelled writes what their owners call devices into their configurations, where
// nothing else found here is called so. What two are called, neither is: a configuration
// in which they are would be refused.
func labelled(list []Discovered) {
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
		case d.Config == nil || label == config.Spoken(d.Name) || !sayable(d.Label):
		case has[label] > 1:
			list[i].Where += fmt.Sprintf("; it calls itself %q, as another here does: write a label", d.Label)
		default:
			d.Config["label"] = d.Label
		}
	}
}

// sayable reports whether people can call a device so: it is one line of words, and more
// than a word for many things.
func sayable(label string) bool {
	if utf8.RuneCountInString(label) > longestLabel || !plain(map[string]string{"": label}) || !strings.ContainsFunc(label, unicode.IsLetter) {
		return false
	}
	called := config.Spoken(label)
	return strings.Contains(called, " ") || !catalog.Default().HasClass(called)
}
