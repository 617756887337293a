// Package pushtest plays the browser of a push message in tests: it makes a subscription, checks the
// signature of the sender, and decrypts the message. It follows RFC 8188, 8291 and 8292 with the
// standard library alone, so that it shares no code with the sender.
package pushtest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/push"
)

// Browser has the secrets of one subscription.
type Browser struct {
	endpoint string
	key      *ecdh.PrivateKey
	auth     []byte
}

// NewBrowser makes a browser whose push service has an address.
func NewBrowser(endpoint string) (*Browser, error) {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	b := &Browser{endpoint: endpoint, key: key, auth: make([]byte, 16)}
	_, err = rand.Read(b.auth)
	return b, err
}

// BrowserOf returns a browser with known secrets, both in base64url.
func BrowserOf(endpoint, key, auth string) (*Browser, error) {
	data, err := encoding.DecodeString(key)
	if err != nil {
		return nil, err
	}
	b := &Browser{endpoint: endpoint}
	if b.key, err = ecdh.P256().NewPrivateKey(data); err != nil {
		return nil, err
	}
	b.auth, err = encoding.DecodeString(auth)
	return b, err
}

var encoding = base64.RawURLEncoding

// Subscription returns what the browser gives to a page.
func (b *Browser) Subscription() (s push.Subscription) {
	s.Endpoint = b.endpoint
	s.Keys.P256dh, s.Keys.Auth = encoding.EncodeToString(b.key.PublicKey().Bytes()), encoding.EncodeToString(b.auth)
	return s
}

// Open checks a message that its push service has got from the sender with a public key, and returns
// the payload. now is the time of the push service.
func (b *Browser) Open(head http.Header, body []byte, sender string, now time.Time) ([]byte, error) {
	if err := b.checkSender(head.Get("Authorization"), sender, now); err != nil {
		return nil, err
	}
	if head.Get("Content-Encoding") != "aes128gcm" || head.Get("TTL") == "" {
		return nil, fmt.Errorf("the message has the heads %v", head)
	}
	return b.Decrypt(body)
}

// checkSender checks the signed token of RFC 8292.
func (b *Browser) checkSender(head, sender string, now time.Time) error {
	token, key, ok := strings.Cut(strings.TrimPrefix(head, "vapid t="), ", k=")
	parts := strings.Split(token, ".")
	if !ok || !strings.HasPrefix(head, "vapid t=") || len(parts) != 3 || key != sender {
		return fmt.Errorf("the head Authorization: %q is no token of the sender %s", head, sender)
	}
	var claims struct {
		Aud, Sub, Alg string
		Exp           int64
	}
	for _, part := range parts[:2] {
		data, err := encoding.DecodeString(part)
		if err == nil {
			err = json.Unmarshal(data, &claims)
		}
		if err != nil {
			return err
		}
	}
	at, err := url.Parse(b.endpoint)
	if err != nil {
		return err
	}
	ends := time.Unix(claims.Exp, 0)
	if claims.Alg != "ES256" || claims.Aud != "https://"+at.Host || !strings.HasPrefix(claims.Sub, "https://") || !ends.After(now) || ends.After(now.Add(24*time.Hour)) {
		return fmt.Errorf("the token says %+v", claims)
	}
	point, err := encoding.DecodeString(key)
	if err != nil {
		return err
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return err
	}
	signature, err := encoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		return fmt.Errorf("the signature has %d bytes: %w", len(signature), err)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return errors.New("the signature is not that of the sender")
	}
	return nil
}

// headSize is the size of salt, record size and key length before the key of the sender.
const headSize = 21

// Decrypt opens a message of one record.
func (b *Browser) Decrypt(body []byte) ([]byte, error) {
	if len(body) < headSize || len(body) < headSize+int(body[20]) || len(body) > int(binary.BigEndian.Uint32(body[16:20])) {
		return nil, fmt.Errorf("the message of %d bytes is no single record", len(body))
	}
	salt, point, record := body[:16], body[headSize:headSize+int(body[20])], body[headSize+int(body[20]):]
	sender, err := ecdh.P256().NewPublicKey(point)
	if err != nil {
		return nil, err
	}
	shared, err := b.key.ECDH(sender)
	if err != nil {
		return nil, err
	}
	info := string(slices.Concat([]byte("WebPush: info\x00"), b.key.PublicKey().Bytes(), point))
	input, err := hkdf.Key(sha256.New, shared, b.auth, info, 32)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := gcm.Open(nil, nonce, record, nil)
	if err != nil {
		return nil, err
	}
	plain = []byte(strings.TrimRight(string(plain), "\x00"))
	if n := len(plain) - 1; n < 0 || plain[n] != 2 {
		return nil, errors.New("the record has no end of a last record")
	}
	return plain[:len(plain)-1], nil
}
