package push

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"
)

const (
	saltSize = 16
	// recordSize is the size of each encrypted message, so that its size says nothing about the
	// payload.
	recordSize = 3 << 10
	lastRecord = 2 // the byte after the payload of the last record (RFC 8188 section 2)
)

// encrypt encrypts a payload for a valid subscription, with a new key and a new salt (RFC 8291
// section 4). The result is one record, with its header.
func encrypt(s Subscription, payload []byte) ([]byte, error) {
	if len(payload) > MaxPayload {
		return nil, fmt.Errorf("the message has %d bytes; send %d at most", len(payload), MaxPayload)
	}
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // it never fails
	own := key.PublicKey().Bytes()
	head := binary.BigEndian.AppendUint32(slices.Clone(salt), recordSize)
	head = append(append(head, byte(len(own))), own...)
	gcm, nonce, err := contentKey(s, key, salt)
	if err != nil {
		return nil, err
	}
	plain := make([]byte, recordSize-len(head)-gcm.Overhead()) // the rest is padding
	plain[copy(plain, payload)] = lastRecord
	return gcm.Seal(head, nonce, plain, nil), nil
}

// contentKey returns the cipher and the nonce of the first record.
func contentKey(s Subscription, key *ecdh.PrivateKey, salt []byte) (cipher.AEAD, []byte, error) {
	browser := s.publicKey()
	shared, err := key.ECDH(browser)
	if err != nil {
		return nil, nil, err
	}
	info := "WebPush: info\x00" + string(browser.Bytes()) + string(key.PublicKey().Bytes())
	input, err := hkdf.Key(sha256.New, shared, decode(s.Keys.Auth), info, sha256.Size)
	if err != nil {
		return nil, nil, err
	}
	content, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, nil, err
	}
	nonce, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(content)
	if err != nil {
		return nil, nil, err
	}
	gcm, err := cipher.NewGCM(block)
	return gcm, nonce, err
}

// tokenTime is how long a token of the exchange is valid; push services take 24 hours at most.
const tokenTime = 12 * time.Hour

// token returns the head with which the exchange names itself to a push service: a signed JSON Web
// Token with its public key (RFC 8292 section 3).
func (k *Keys) token(to *url.URL, now time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{"aud": to.Scheme + "://" + to.Host, "exp": now.Add(tokenTime).Unix(), "sub": contact})
	if err != nil {
		return "", err
	}
	text := encoding.EncodeToString([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + encoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, k.private, sum[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return "vapid t=" + text + "." + encoding.EncodeToString(signature) + ", k=" + k.public, nil
}
