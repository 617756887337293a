// Package push makes Web Push messages: it keeps the keys with which an exchange names itself to the
// push services of browsers (VAPID, RFC 8292), checks subscriptions, and encrypts messages for them
// (RFC 8291). It decides neither who gets a message nor when.
package push

import (
	"context"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/safehttp"
	"github.com/messkit/messkit/mess"
)

// KeyFile is the file in the data folder with the keys of the exchange for push services.
const KeyFile = "push.json"

// maxKeyFile limits the file, in bytes.
const maxKeyFile = 4 << 10

// contact is where the operator of a push service finds out about the program that sends.
const contact = "https://github.com/messkit/messkit"

// Keys are the keys of an exchange for push services.
type Keys struct {
	public  string // base64url
	private string // base64url
}

// storedKeys is the content of the file.
type storedKeys struct {
	Public  string `json:"public"`
	Private string `json:"private"`
}

// Open reads the keys from a data folder, or makes them. With other keys all subscriptions end.
func Open(dir string) (*Keys, error) {
	name := filepath.Join(dir, KeyFile)
	data, err := durable.Read(name, maxKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return create(name)
	}
	if err != nil {
		return nil, err
	}
	k, err := parseKeys(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; restore it from a copy, or remove it, and all browsers must turn their notices on again", name, err)
	}
	return k, nil
}

// Documents has small documents that several exchanges share. *exchange.Exchange implements it.
type Documents interface {
	ChannelDocument(channel, name string) []byte
	ChangeChannelState(ctx context.Context, channel, name string, change func(doc []byte) ([]byte, error)) error
}

// The document with the keys that several exchanges share.
const (
	keysChannel  = "push"
	keysDocument = "keys"
)

// OpenShared works like Open for exchanges that share documents: all use the same keys. The documents
// get the keys of the folder if they have none, and the folder keeps a copy. Who can read the documents
// can send messages in the name of the exchange to the browsers whose subscriptions they have as well.
func OpenShared(ctx context.Context, dir string, docs Documents) (*Keys, error) {
	own, err := Open(dir)
	if err != nil {
		return nil, err
	}
	doc := docs.ChannelDocument(keysChannel, keysDocument)
	if doc == nil {
		err := docs.ChangeChannelState(ctx, keysChannel, keysDocument, func(is []byte) ([]byte, error) {
			if doc = is; is != nil {
				return is, nil
			}
			doc = own.render()
			return doc, nil
		})
		if err != nil {
			return nil, err
		}
	}
	shared, err := parseKeys(doc)
	if err != nil {
		return nil, fmt.Errorf("the keys for push services in the store: %w; restore the store from a copy", err)
	}
	if *shared != *own {
		return shared, durable.Replace(filepath.Join(dir, KeyFile), doc)
	}
	return shared, nil
}

func (k *Keys) render() []byte {
	data, _ := json.Marshal(storedKeys{k.public, k.private}) // cannot fail: plain values
	return data
}

var encoding = base64.RawURLEncoding

func create(name string) (*Keys, error) {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	k := &Keys{encoding.EncodeToString(key.PublicKey().Bytes()), encoding.EncodeToString(key.Bytes())}
	return k, durable.Replace(name, k.render())
}

// errNoKeys is the error of a file that holds no pair of keys. It does not contain them.
var errNoKeys = errors.New("it has no pair of keys")

func parseKeys(data []byte) (*Keys, error) {
	var s storedKeys
	if json.Unmarshal(data, &s) != nil {
		return nil, errNoKeys
	}
	private, err := encoding.DecodeString(s.Private)
	if err != nil {
		return nil, errNoKeys
	}
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), private)
	if err != nil {
		return nil, errNoKeys
	}
	point, err := key.PublicKey.Bytes()
	if err != nil || encoding.EncodeToString(point) != s.Public {
		return nil, errNoKeys
	}
	return &Keys{s.Public, s.Private}, nil
}

// Public returns the public key in base64url, which a browser needs to subscribe.
func (k *Keys) Public() string { return k.public }

// Subscription is what a browser gives to those who may send messages to it. Its address is a
// secret: everybody who has it may make the push service work.
type Subscription struct {
	Endpoint string `json:"endpoint"`
	Keys     struct {
		P256dh string `json:"p256dh"` // the public key of the browser, in base64url
		Auth   string `json:"auth"`   // 16 bytes in base64url
	} `json:"keys"`
}

const (
	maxEndpoint = 1000 // bytes; those of the known push services have at most 400
	authSize    = 16   // bytes
)

// Validate returns an error for a subscription to which no message can go. The error is a
// *mess.Error. Whether the exchange may connect to the address is found out when it does.
func (s Subscription) Validate() error {
	u, err := url.Parse(s.Endpoint)
	switch {
	case err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" || len(s.Endpoint) > maxEndpoint || strings.ContainsFunc(s.Endpoint, isControl):
		return mess.Errorf(mess.Invalid, "endpoint: it is no https address of a push service of at most %d bytes; turn the notices of this browser off and on again", maxEndpoint)
	case s.publicKey() == nil:
		return mess.Errorf(mess.Invalid, "keys.p256dh: it is no point of the curve P-256 in base64url; turn the notices of this browser off and on again")
	case len(decode(s.Keys.Auth)) != authSize:
		return mess.Errorf(mess.Invalid, "keys.auth: it has not %d bytes in base64url; turn the notices of this browser off and on again", authSize)
	}
	return nil
}

func isControl(r rune) bool { return r <= ' ' || r >= 0x7f }

// maxKeyText limits the text of a key of a subscription, in bytes.
const maxKeyText = 128

// decode returns the bytes of a text in base64url with or without padding, nil for another text.
func decode(text string) []byte {
	if len(text) > maxKeyText {
		return nil
	}
	data, err := encoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil
	}
	return data
}

func (s Subscription) publicKey() *ecdh.PublicKey {
	key, err := ecdh.P256().NewPublicKey(decode(s.Keys.P256dh))
	if err != nil {
		return nil
	}
	return key
}

// Message is what a browser gets.
type Message struct {
	Payload []byte        // at most MaxPayload
	TTL     time.Duration // how long the push service keeps it for a browser without a network
	Urgent  bool          // the push service wakes the device for it
	// Topic replaces an undelivered message with the same topic: at most 32 characters of base64url;
	// "" for none.
	Topic string
}

// MaxPayload limits the payload, in bytes: push services take 4096 bytes with its encryption.
const MaxPayload = 2 << 10

// recordSize is the size of each encrypted message, in bytes, so that its size says nothing about the
// payload.
const recordSize = 3 << 10

// client sends what the library has made.
type client struct{ *http.Client }

// Do sends a request with the name of this program.
func (c client) Do(req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", "messkit")
	return safehttp.Send(c.Client, req)
}

// Send sends a message once and returns the HTTP status of the push service. c decides which
// addresses it connects to. The error contains neither the address nor a key.
func (k *Keys) Send(ctx context.Context, c *http.Client, s Subscription, m Message) (code int, err error) {
	if err := s.Validate(); err != nil {
		return 0, err
	}
	if len(m.Payload) > MaxPayload {
		return 0, fmt.Errorf("the message has %d bytes; send %d at most", len(m.Payload), MaxPayload)
	}
	urgency := webpush.UrgencyNormal
	if m.Urgent {
		urgency = webpush.UrgencyHigh
	}
	res, err := webpush.SendNotificationWithContext(ctx, m.Payload, &webpush.Subscription{Endpoint: s.Endpoint, Keys: webpush.Keys{Auth: s.Keys.Auth, P256dh: s.Keys.P256dh}}, &webpush.Options{
		HTTPClient: client{c}, RecordSize: recordSize, Subscriber: contact, Topic: m.Topic, TTL: int(m.TTL.Seconds()), Urgency: urgency,
		VAPIDPublicKey: k.public, VAPIDPrivateKey: k.private,
	})
	if err != nil {
		return 0, err
	}
	return res.StatusCode, nil // safehttp.Send has read and closed the body
}
