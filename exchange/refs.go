package exchange

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/messkit/messkit/mess"
)

// maxToken bounds the part of a ref that comes from outside.
const maxToken = 40

// Token makes of a sender's own id the part of a ref that it becomes
// (MESSE-AF 2.1, "Identifiers"): lower-case letters, digits and single hyphens.
func Token(id string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(id) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		} else {
			gap = true
		}
		if b.Len() >= maxToken {
			break
		}
	}
	return b.String()
}

// ThreadRef is the thread that a ref of a thread or of a message belongs to.
func ThreadRef(ref string) string {
	thread, _, _ := strings.Cut(ref, "/")
	return thread
}

// makeRef is {day}-{serial}-{token}.
func makeRef(day string, serial int, token string) string {
	ref := fmt.Sprintf("%s-%03d", day, serial)
	if token != "" {
		ref += "-" + token
	}
	return ref
}

// messageRef is {thread}/{type}-{serial}-{token} for the message that is
// stored with serial.
func messageRef(thread string, serial int, m mess.Message) string {
	ref := fmt.Sprintf("%s/%s-%03d", thread, messageType(m), serial)
	if t := Token(itemID(m)); t != "" {
		ref += "-" + t
	}
	return ref
}

// messageType is the type that a message's ref bears: that of its weightiest
// item (MESSE-AF 2.1, "Message References").
func messageType(m mess.Message) string {
	kind := "followup"
	for _, item := range m.Items {
		switch i := item.(type) {
		case *mess.Response:
			return "response"
		case *mess.Cancel:
			return "cancel"
		case *mess.Reply, *mess.Answer:
			return "answer"
		case *mess.Status:
			kind = statusType(i.Code)
		}
	}
	return kind
}

func statusType(c mess.Code) string {
	switch c {
	case mess.Claimed:
		return "claim"
	case mess.NeedsInput, mess.NeedsConfirmation:
		return "question"
	}
	return "status"
}

// itemID is the sender's own id for what a message says. The id of the message
// itself only tells a repetition from something new.
func itemID(m mess.Message) string {
	for _, item := range m.Items {
		if id := idOf(item); id != "" {
			return id
		}
	}
	return ""
}

func idOf(item mess.Item) string {
	switch i := item.(type) {
	case *mess.Response:
		return i.ID
	case *mess.Reply:
		return i.ID
	case *mess.Answer:
		return i.ID
	case *mess.Cancel:
		return i.ID
	case *mess.Suggestion:
		return i.ID
	case *mess.Status:
		if i.ID == "" && len(i.Questions) == 1 {
			return i.Questions[0].Key()
		}
		return i.ID
	}
	return ""
}

// parseRef takes the ref of a thread apart; false if it is none of ours.
func parseRef(ref string) (day string, serial int, ok bool) {
	if len(ref) < len("2006-01-02-0") || ref[10] != '-' {
		return "", 0, false
	}
	number, _, _ := strings.Cut(ref[11:], "-")
	serial, err := strconv.Atoi(number)
	return ref[:10], serial, err == nil && serial > 0
}
