package wire

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
)

const sealedBy = "aes-256-cbc"

// SealKeySize is the number of characters of a key that encrypt.
const SealKeySize = 32

// errSealed hides the reason, because a sender of changed texts must not learn about the padding.
var errSealed = errors.New("the shared key does not decrypt the text")

// Seal encrypts a text. iv must be random.
func (k Key) Seal(text string, iv [aes.BlockSize]byte) (string, error) {
	c, err := k.cipher()
	if err != nil {
		return "", err
	}
	pad := aes.BlockSize - len(text)%aes.BlockSize
	data := append([]byte(text), bytes.Repeat([]byte{byte(pad)}, pad)...) // PKCS #7
	cipher.NewCBCEncrypter(c, iv[:]).CryptBlocks(data, data)
	b := printer{}
	b.open()
	b.text("enc", sealedBy)
	b.text("iv", hex.EncodeToString(iv[:]))
	b.text("data", base64.StdEncoding.EncodeToString(data))
	b.close()
	return string(b.out), nil
}

// Open decrypts the result of Seal.
func (k Key) Open(sealed string) (string, error) {
	c, err := k.cipher()
	if err != nil {
		return "", err
	}
	var s struct{ Enc, IV, Data string }
	if json.Unmarshal([]byte(sealed), &s) != nil || s.Enc != sealedBy {
		return "", errSealed
	}
	iv, err1 := hex.DecodeString(s.IV)
	data, err2 := base64.StdEncoding.DecodeString(s.Data)
	if errors.Join(err1, err2) != nil || len(iv) != aes.BlockSize || len(data) == 0 || len(data)%aes.BlockSize != 0 {
		return "", errSealed
	}
	cipher.NewCBCDecrypter(c, iv).CryptBlocks(data, data)
	pad := int(data[len(data)-1])
	if pad < 1 || pad > aes.BlockSize || !bytes.Equal(data[len(data)-pad:], bytes.Repeat([]byte{byte(pad)}, pad)) {
		return "", errSealed
	}
	return string(data[:len(data)-pad]), nil
}

// cipher uses the first characters of the key without decoding them.
func (k Key) cipher() (cipher.Block, error) {
	key := k.bytes()
	if len(key) < SealKeySize {
		return nil, errors.New("the key is too short to encrypt; it needs 32 characters or more")
	}
	return aes.NewCipher(key[:SealKeySize])
}
