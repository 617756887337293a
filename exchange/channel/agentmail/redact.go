package agentmail

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/secret"
)

// redactedText replaces a secret.
const redactedText = "***"

// minSecret is the length of the shortest secret that is replaced, in bytes. Shorter texts occur
// by chance in numbers and images.
const minSecret = 8

// secrets returns the tokens of the mail server and of the configuration.
func (h *shared) secrets() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, s := range append(slices.Clone(h.cfg.Secrets), secret.Text(h.s.Token)) {
		if len(s) >= minSecret {
			all = append(all, string(s))
		}
	}
	return all
}

// redacted replaces the secrets in a text.
func (h *shared) redacted(text string) string {
	for _, s := range h.secrets() {
		text = strings.ReplaceAll(text, s, redactedText)
	}
	return text
}

// withoutSecrets replaces the secrets in a JSON message (section "Security Considerations", 4).
func (h *shared) withoutSecrets(body []byte) []byte {
	text := string(body)
	for _, s := range h.secrets() {
		text = strings.ReplaceAll(text, inString(s), redactedText)
	}
	if text == string(body) {
		return body
	}
	return []byte(text)
}

// inString returns a text in the form that it has in a JSON string.
func inString(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string never fails
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}
