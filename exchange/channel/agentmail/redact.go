package agentmail

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/secret"
)

// redactedText stands where a secret was.
const redactedText = "***"

// minSecret is the shortest secret that is looked for in what goes out, in bytes:
// shorter ones stand by chance in numbers and pictures.
const minSecret = 8

// secrets are what the door knows and tells nobody: the tokens of the mail server,
// and those of the configuration.
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

// redacted is a text without secrets.
func (h *shared) redacted(text string) string {
	for _, s := range h.secrets() {
		text = strings.ReplaceAll(text, s, redactedText)
	}
	return text
}

// withoutSecrets is a message in JSON without secrets (section "Security
// Considerations", 4).
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

// inString is a text as it stands in a string of JSON.
func inString(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a text always is one in JSON
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}
