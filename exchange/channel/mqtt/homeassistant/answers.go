package homeassistant

import (
	"encoding/json"
	"strings"

	"github.com/messkit/messkit/mess"
)

// acceptButton confirms the open plan. It names the plan, so it confirms no other.
func (a executorView) acceptButton() entity {
	return a.confirmButton("yes", "Yes, do it", "mdi:check", true)
}

func (a executorView) rejectButton() entity {
	return a.confirmButton("no", "No, do nothing", "mdi:close", false)
}

func (a executorView) confirmButton(key, name, icon string, yes bool) entity {
	press := ""
	if q := a.activity.openConfirmation(); q != nil {
		c := q.envelope.Confirm
		reply := object("re", c.Message, "confirm", yes)
		if c.ActionHash != "" {
			reply = reply.Set("action_hash", c.ActionHash)
		}
		press = jsonText(object("MESS", []any{object("reply", reply)}))
	}
	return entity{key, "button", "", a.button(name, icon, "asks", press)}
}

// chooseSelect answers a question with one of its options.
func (a executorView) chooseSelect() entity {
	options := []any{}
	if q := a.activity.openQuestion(); q != nil {
		options = optionsOf(q)
	}
	return entity{"choose", "select", "", a.answerConfig("Answer", "mdi:help-circle", "chooses", "{{ none }}").Set("options", options)}
}

// writeText answers a question in words.
func (a executorView) writeText() entity {
	return entity{"write", "text", "", a.answerConfig("Answer in words", "mdi:comment-question", "writes", "{{ '' }}").Set("max", maxState)}
}

// maxState is the limit of a Home Assistant state, and with it of an option or a text, in
// characters.
const maxState = 255

// optionsOf returns the options of a question. It returns none if Home Assistant cannot show
// one of them.
func optionsOf(q *openTask) []any {
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

// answerConfig returns the configuration of an entity that answers the open question. Its state
// is empty: the thread has the answer.
func (a executorView) answerConfig(name, icon, while, shows string) mess.Object {
	return a.command(object(
		"name", name, "icon", icon, "command_template", a.replyTemplate(), "state_topic", a.topic("answer"), "value_template", shows,
		"json_attributes_topic", a.topic("answer"),
		"availability", []any{a.exchangeAvailability(), object("topic", a.topic(while))}, "availability_mode", "all",
	))
}

// replyTemplate returns the reply to the open question as a template of Home Assistant, in
// which value is the answer of the user. It names the question.
func (a executorView) replyTemplate() string {
	q := a.activity.openQuestion()
	if q == nil {
		return ""
	}
	return `{"MESS":[{"reply":{"re":` + escapeTemplate(q.question) + `,"answers":{` + escapeTemplate(q.envelope.Questions[0].Key) + `:{{ value | to_json }} }}}]}`
}

// escapeTemplate returns a text as JSON without the characters that begin a template. Others
// have written the text, and Home Assistant would run a template in it.
func escapeTemplate(s string) string {
	text, _ := json.Marshal(s) // cannot fail: a string
	return strings.NewReplacer("{", `\u007b`, "}", `\u007d`).Replace(string(text))
}

// questionState returns the open question, for a display next to the answer.
func (a executorView) questionState() mess.Object {
	q := a.activity.openQuestion()
	if q == nil {
		return object("question", nil)
	}
	return object("question", q.asked, "ref", q.envelope.Ref)
}
