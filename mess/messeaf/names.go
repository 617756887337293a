package messeaf

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/messkit/messkit/internal/ascii"
	"github.com/messkit/messkit/mess"
)

// maxToken bounds the part of a ref that comes from outside.
const maxToken = 40

// Token makes of a sender's own id the part of a ref that it becomes (section
// "Identifiers"): lower-case letters, digits and single hyphens.
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

// Ref is {day}-{serial}-{token}, the ref of a thread. day is 2006-01-02.
func Ref(day string, serial int, token string) string {
	ref := fmt.Sprintf("%s-%03d", day, serial)
	if token != "" {
		ref += "-" + token
	}
	return ref
}

// ParseRef takes the ref of a thread apart; false if it was not made by Ref.
func ParseRef(ref string) (day string, serial int, ok bool) {
	if len(ref) < len("2006-01-02-0") || ref[10] != '-' {
		return "", 0, false
	}
	number, _, _ := strings.Cut(ref[11:], "-")
	if len(number) > 9 || strings.ContainsFunc(number, func(r rune) bool { return r < '0' || r > '9' }) {
		return "", 0, false
	}
	serial, err := strconv.Atoi(number)
	return ref[:10], serial, err == nil && serial > 0
}

// ValidRef reports whether a thread can be called so on a disk: what can be a
// folder and a file everywhere. Others name threads in their own way, so the
// form is not ours.
func ValidRef(ref string) bool {
	return ascii.Name(ref, 200, "._@+-") && !strings.Contains(ref, "..") && !strings.HasSuffix(ref, ".") &&
		!strings.HasSuffix(ref, ".yaml") && !strings.HasSuffix(ref, ".messe-af") && !strings.HasSuffix(ref, ".zip")
}

// ThreadRef is the thread that a ref of a thread or of a message belongs to.
func ThreadRef(ref string) string {
	thread, _, _ := strings.Cut(ref, "/")
	return thread
}

// MessageRef is {thread}/{type}-{serial}-{token} for the message that is stored
// with serial (section "Message References").
func MessageRef(thread string, serial int, m mess.Message) string {
	ref := fmt.Sprintf("%s/%s-%03d", thread, messageType(m), serial)
	if t := Token(ItemID(m)); t != "" {
		ref += "-" + t
	}
	return ref
}

// Serial is the serial in a message's ref, 0 if it has none.
func Serial(ref string) int {
	_, own, _ := strings.Cut(ref, "/")
	_, rest, _ := strings.Cut(own, "-")
	number, _, _ := strings.Cut(rest, "-")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// messageType is the type that a message's ref bears: that of its weightiest
// item.
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

// ItemID is the sender's own id for what a message says. The id of the message
// itself only tells a repetition from something new.
func ItemID(m mess.Message) string {
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

// The endings of a thread's file, and of an archive.
const (
	Ext      = ".messe-af.yaml"
	ShortExt = ".messe-af"
	ZipExt   = ".messe-af.zip"
)

// FileName is the name of a thread's file number n, from 0.
func FileName(n int, ref string) string { return fmt.Sprintf("%03d-%s%s", n, ref, Ext) }

// cutExt returns a file's name without its ending; false if it is no thread's.
func cutExt(name string) (string, bool) {
	if stem, ok := strings.CutSuffix(name, Ext); ok {
		return stem, true
	}
	return strings.CutSuffix(name, ShortExt)
}

// ParseFileName takes the name of a file in a thread's folder apart.
func ParseFileName(name string) (n int, ref string, ok bool) {
	stem, ok := cutExt(name)
	if !ok {
		return 0, "", false
	}
	number, ref, _ := strings.Cut(stem, "-")
	if !ascii.Digits(number, 3, 6) || !ValidRef(ref) {
		return 0, "", false
	}
	n, err := strconv.Atoi(number)
	return n, ref, err == nil
}

// ValidAttachment reports whether name is that of an attachment in a thread's
// folder. A valid name holds no path.
func ValidAttachment(name string) bool {
	rest, ok := strings.CutPrefix(name, "att-")
	number, own, _ := strings.Cut(rest, "-")
	return ok && ascii.Digits(number, 1, 9) && ascii.Text(own, 200, "._@+-") && !strings.Contains(name, "..")
}

// AttachmentName is att-{serial}-{type}-{name}.{ext} (section "Attachment
// References"). serial is that of the message that brings it; kind is image,
// audio, video or file.
func AttachmentName(serial int, kind, name string) string {
	return fmt.Sprintf("att-%03d-%s-%s", serial, kind, SafeName(name))
}

// maxName bounds a file's name that comes from outside.
const maxName = 80

// SafeName makes of a name from outside one that is safe everywhere: letters,
// digits, dot, hyphen and underscore, no path, at most 80 characters.
func SafeName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-", r):
			return r
		}
		return '_'
	}, name)
	for strings.Contains(safe, "..") {
		safe = strings.ReplaceAll(safe, "..", ".")
	}
	safe = strings.Trim(safe, ".")
	if len(safe) > maxName {
		ext := path.Ext(safe)
		if len(ext) > 10 {
			ext = ""
		}
		safe = strings.TrimRight(safe[:maxName-len(ext)], ".") + ext
	}
	if safe == "" {
		return "file"
	}
	return safe
}
