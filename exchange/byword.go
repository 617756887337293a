package exchange

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
)

// byWord says of what a person has done how it is known, where she does not say it
// herself: by her word. The page for phones does so too; other clients need not know
// of it.
func (t *turn) byWord() {
	name := t.person(t.who.ID)
	if name == "" || t.evidence || t.repeat || !slices.Contains([]mess.Code{mess.Completed, mess.Partial}, t.env.Status) {
		return
	}
	word := "by " + name + "’s word"
	for i, item := range t.message.Items {
		s, ok := item.(*mess.Status)
		if !ok || s.Code != t.env.Status {
			continue
		}
		if s.Evidence == "" && !strings.Contains(s.Message, word) {
			said := *s
			said.Message = strings.TrimSpace(s.Message + " (" + word + ")")
			if s.Message == "" {
				said.Message = word
			}
			t.message.Items = slices.Clone(t.message.Items)
			t.message.Items[i] = &said
		}
		return
	}
	if t.implies {
		t.message.Items = append(slices.Clone(t.message.Items), &mess.Status{Code: t.env.Status, Message: word})
	}
}
