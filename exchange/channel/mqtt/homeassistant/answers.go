package homeassistant

import (
	"encoding/json"
	"strings"

	"github.com/messkit/messkit/mess"
)

// yes answers the question that waits, and no other: it names the plan.
func (a about) yes() entity { return a.answer("yes", "Yes, do it", "mdi:check", true) }

func (a about) no() entity { return a.answer("no", "No, do nothing", "mdi:close", false) }

func (a about) answer(key, name, icon string, yes bool) entity {
	press := ""
	if q := a.now.question(); q != nil {
		c := q.env.Confirm
		reply := object("re", c.Message, "confirm", yes)
		if c.ActionHash != "" {
			reply = reply.Set("action_hash", c.ActionHash)
		}
		press = jsonText(object("MESS", []any{object("reply", reply)}))
	}
	return entity{key, "button", "", a.button(name, icon, "asks", press)}
}

// choose answers a question with one of its options.
func (a about) choose() entity {
	options := []any{}
	if q := a.now.input(); q != nil {
		options = optionsOf(q)
	}
	return entity{"choose", "select", "", a.says("Answer", "mdi:help-circle", "chooses", "{{ none }}").Set("options", options)}
}

// write answers a question in words.
func (a about) write() entity {
	return entity{"write", "text", "", a.says("Answer in words", "mdi:comment-question", "writes", "{{ '' }}").Set("max", maxState)}
}

// maxState is how many signs a state of Home Assistant's has at most, and with it
// an option or a text.
const maxState = 255

// optionsOf are the options of a question that can be chosen: none, if one of
// them cannot.
func optionsOf(q *work) []any {
	list, seen := []any{}, map[string]bool{}
	for _, o := range q.options {
		if o == "" || len([]rune(o)) > maxState || strings.EqualFold(o, unknown) {
			return []any{}
		}
		if !seen[o] {
			list = append(list, o)
		}
		seen[o] = true
	}
	return list
}

// says is what an entity has that answers the question that waits. It shows no
// answer: what was said stands in the thread.
func (a about) says(name, icon, while, shows string) mess.Object {
	return a.command(object(
		"name", name, "icon", icon, "command_template", a.replying(), "state_topic", a.topic("answer"), "value_template", shows,
		"json_attributes_topic", a.topic("answer"),
		"availability", []any{a.exchangeUp(), object("topic", a.topic(while))}, "availability_mode", "all",
	))
}

// replying is the answer to the question that waits, as a template of Home
// Assistant's in which value is what somebody says. It names the question.
func (a about) replying() string {
	q := a.now.input()
	if q == nil {
		return ""
	}
	return `{"MESS":[{"reply":{"re":` + plain(q.of) + `,"answers":{` + plain(q.env.Questions[0].Key) + `:{{ value | to_json }} }}}]}`
}

// plain is a text in JSON in which no template begins or ends: it is of others,
// and Home Assistant would carry it out.
func plain(s string) string {
	text, _ := json.Marshal(s) // cannot fail: a string
	return strings.NewReplacer("{", `\u007b`, "}", `\u007d`).Replace(string(text))
}

// asking is the question that waits, for those who read it beside the answer.
func (a about) asking() mess.Object {
	q := a.now.input()
	if q == nil {
		return object("question", nil)
	}
	return object("question", q.asked, "ref", q.env.Ref)
}
