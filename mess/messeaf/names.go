package messeaf

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/messkit/messkit/internal/ascii"
	"github.com/messkit/messkit/mess"
)

// maxToken is the length limit for the part of a ref that comes from outside.
const maxToken = 40

// Token converts the sender's id to the part of a ref (section "Identifiers"): lower-case
// letters, digits and single hyphens.
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

// Ref returns the ref of a thread, {day}-{serial}-{token}. day is 2006-01-02.
func Ref(day string, serial int, token string) string {
	ref := fmt.Sprintf("%s-%03d", day, serial)
	if token != "" {
		ref += "-" + token
	}
	return ref
}

// ParseRef parses the ref of a thread; it returns false for a ref in another form.
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

// ValidRef reports whether a thread can have this name on a disk: the name must be valid
// for a folder and a file on every system. It accepts the forms of other implementations.
func ValidRef(ref string) bool {
	return ascii.Name(ref, 200, "._@+-") && !strings.Contains(ref, "..") && !strings.HasSuffix(ref, ".") &&
		!strings.HasSuffix(ref, ".yaml") && !strings.HasSuffix(ref, ".messe-af") && !strings.HasSuffix(ref, ".zip")
}

// ThreadRef returns the thread of a ref of a thread or a message.
func ThreadRef(ref string) string {
	thread, _, _ := strings.Cut(ref, "/")
	return thread
}

// MessageRef returns {thread}/{type}-{serial}-{token} for the message with this serial
// (section "Message References").
func MessageRef(thread string, serial int, m mess.Message) string {
	ref := fmt.Sprintf("%s/%s-%03d", thread, messageType(m), serial)
	if t := Token(ItemID(m)); t != "" {
		ref += "-" + t
	}
	return ref
}

// Serial returns the serial in the ref of a message, or 0.
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

// messageType returns the type in the ref of a message: the type of its most important
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

// ItemID returns the sender's id of an item. The id of the message itself only detects a
// repetition.
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

// File extensions of a thread file and of an archive.
const (
	Ext      = ".messe-af.yaml"
	ShortExt = ".messe-af"
	ZipExt   = ".messe-af.zip"
)

// FileName returns the name of thread file number n, from 0.
func FileName(n int, ref string) string { return fmt.Sprintf("%03d-%s%s", n, ref, Ext) }

// cutExt returns the name of a thread file without its extension; false for any other file.
func cutExt(name string) (string, bool) {
	if stem, ok := strings.CutSuffix(name, Ext); ok {
		return stem, true
	}
	return strings.CutSuffix(name, ShortExt)
}

// ParseFileName parses the name of a file in the folder of a thread.
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

// ValidAttachment reports whether name is valid for an attachment. A valid name contains no
// path.
func ValidAttachment(name string) bool {
	rest, ok := strings.CutPrefix(name, "att-")
	number, own, _ := strings.Cut(rest, "-")
	return ok && ascii.Digits(number, 1, 9) && ascii.Text(own, 200, "._@+-") && !strings.Contains(name, "..")
}

// AttachmentName returns att-{serial}-{type}-{name}.{ext} (section "Attachment
// References"). serial is that of the message with the attachment; kind is image, audio,
// video or file.
func AttachmentName(serial int, kind, name string) string {
	return fmt.Sprintf("att-%03d-%s-%s", serial, kind, SafeName(name))
}

// maxName is the length limit for a file name from outside.
const maxName = 80

// SafeName converts a name from outside to one that is safe on every system: letters,
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
