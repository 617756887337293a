package drivers

import "github.com/messkit/messkit/internal/secret"

// Secret is a password. It prints as ***.
type Secret = secret.Text
