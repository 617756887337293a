package natslink

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
)

// Kind is the purpose of a message.
type Kind string

// Messages of an executor. The exchange answers each, except Bye and Alive.
const (
	Hello   Kind = "hello"   // asks who is there
	Begin   Kind = "begin"   // opens a session, in which the exchange sends offers and orders
	Message Kind = "message" // of MESS
	File    Kind = "file"    // an attachment
	Alive   Kind = "alive"   // answers Beat
	Bye     Kind = "bye"     // ends the session
)

// Messages of the exchange. The executor answers News and Order.
const (
	Answer  Kind = "answer"
	Refused Kind = "refused" // an answer without a signature: the key is wrong
	News    Kind = "news"    // a message of MESS in a session
	Order   Kind = "order"   // the same, and it must not wait: a stop or a drain
	Beat    Kind = "beat"    // the session goes on
	End     Kind = "end"     // the session has ended
)

// Head says what a message is. A long body goes in parts, each with the same ID and Number.
type Head struct {
	Kind     Kind   `json:"kind"`
	Executor string `json:"executor"`
	ID       string `json:"id"`                // unique; an answer has that of its question
	Session  string `json:"session,omitempty"` // of Begin, Bye, News, Order, Beat and End
	Number   uint64 `json:"number,omitempty"`  // of News and Order in their session, from 1
	Part     int    `json:"part,omitempty"`    // from 0
	Parts    int    `json:"parts,omitempty"`   // how many there are; 0 for one

	Ref  string `json:"ref,omitempty"` // of File: the thread, and
	Name string `json:"name,omitempty"`
	MIME string `json:"mime,omitempty"`

	Node     string `json:"node,omitempty"`     // of Answer: the name of this exchange in subjects
	Exchange string `json:"exchange,omitempty"` // of Answer to Hello: the id of the exchange
	MaxFile  int64  `json:"max_file,omitempty"` // of Answer to Begin: limit of an attachment, in bytes
	BeatMS   int64  `json:"beat_ms,omitempty"`  // of Answer to Begin: milliseconds between two Beats
	Restart  bool   `json:"restart,omitempty"`  // of Answer: send all parts again, from the first one
}

// IsLast reports whether a body is complete with this part.
func (h Head) IsLast() bool { return h.Part >= h.Parts-1 }

// signature is the length of a signature in hex, with the space after it.
const signature = 2*sha256.Size + 1

// HeadRoom is more than the bytes of a message beside its body.
const HeadRoom = 8 << 10

// Silence is how many intervals without a message end a session.
const Silence = 2.5

// MaxParts limits the parts of one body.
const MaxParts = 1024

// Secret returns what an executor and its exchange both know: the hex form of the SHA-256 of a key.
func Secret(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return hex.AppendEncode(nil, sum[:])
}

// Seal returns a signed message: the signature in hex, a space, the head in JSON, a newline, and the
// body. The signature is HMAC-SHA256 over all after the space. With a nil secret it is of no value.
func Seal(secret []byte, h Head, body []byte) []byte {
	head, _ := json.Marshal(h) // cannot fail: texts and numbers
	data := make([]byte, signature, signature+len(head)+1+len(body))
	data = append(append(append(data, head...), '\n'), body...)
	hex.Encode(data, sign(secret, data[signature:]))
	data[signature-1] = ' '
	return data
}

func sign(secret, text []byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write(text)
	return m.Sum(nil)
}

// ErrSignature means that a message is not signed with a valid key.
var ErrSignature = errors.New("the message is not signed with a key that counts here")

var errFormat = errors.New("the message has no head")

// Open reads a message, and returns the secret with which it is signed. If no secret matches, the
// error is ErrSignature, and the head is not to be trusted.
func Open(data []byte, secrets ...[]byte) (h Head, body, secret []byte, err error) {
	if len(data) < signature {
		return Head{}, nil, nil, errFormat
	}
	head, body, ok := bytes.Cut(data[signature:], []byte("\n"))
	if !ok || len(head) > HeadRoom {
		return Head{}, nil, nil, errFormat
	}
	if err := json.Unmarshal(head, &h); err != nil {
		return Head{}, nil, nil, errFormat
	}
	if h.Part < 0 || h.Parts < 0 || h.Parts > MaxParts || h.Part > 0 && h.Part >= h.Parts {
		return Head{}, nil, nil, errFormat
	}
	for _, s := range secrets {
		if isSigned(data, s) {
			return h, body, s, nil
		}
	}
	return h, nil, nil, ErrSignature
}

// isSigned reports whether a message is signed with a secret.
func isSigned(data, secret []byte) bool {
	return hmac.Equal(data[:signature], append(hex.AppendEncode(nil, sign(secret, data[signature:])), ' '))
}

// Split cuts a body in parts of at most size bytes, at least one.
func Split(body []byte, size int) (parts [][]byte) {
	for len(body) > size {
		parts, body = append(parts, body[:size]), body[size:]
	}
	return append(parts, body)
}

// PartSize returns the size of the parts of a body for a server with a limit of messages.
func PartSize(maxPayload int64) int { return int(min(max(maxPayload, 2*HeadRoom), 512<<10)) - HeadRoom }

// Joined puts the parts of one body together. The zero value waits for a first part.
type Joined struct {
	id   string
	next int
	body []byte
}

// Errors of Add.
var (
	ErrGap     = errors.New("a part is missing")
	ErrTooLong = errors.New("the body is too long")
)

// Add adds a part. It returns the body with the last one. The error is ErrGap if the part before it is
// missing, or ErrTooLong if the body is longer than most bytes.
func (j *Joined) Add(h Head, part []byte, most int) (body []byte, complete bool, err error) {
	switch {
	case h.Part == 0:
		*j = Joined{id: h.ID}
	case h.ID == j.id && h.Part == j.next-1:
		return nil, false, nil // it has come twice
	case h.ID != j.id || h.Part != j.next:
		return nil, false, ErrGap
	}
	if len(j.body)+len(part) > most {
		*j = Joined{}
		return nil, false, ErrTooLong
	}
	if h.IsLast() && h.Part == 0 {
		*j = Joined{}
		return part, true, nil
	}
	j.body = append(j.body, part...)
	if j.next = h.Part + 1; !h.IsLast() {
		return nil, false, nil
	}
	body = j.body
	*j = Joined{}
	return body, true, nil
}
