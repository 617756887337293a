package drivers

import (
	"cmp"
	"fmt"

	"github.com/messkit/messkit/internal/secret"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Decode decodes a YAML mapping over the defaults in out, a pointer to the Config of a
// driver. It does the same as the decode function of a Factory: it reports every unknown key
// and invalid value with file and line, and calls the Validate method of each struct that
// has one. file stands in the errors only. A caller must not use out after an error.
func Decode(file string, data []byte, out any) error {
	return strictyaml.Decode(file, data, out)
}

// CheckRange returns an error for a value of a configuration outside of a range that includes
// both ends. The error begins with the key.
func CheckRange[T cmp.Ordered](key string, value, low, high T) error {
	if value >= low && value <= high {
		return nil
	}
	return fmt.Errorf("%s: %v is not between %v and %v", key, value, low, high)
}

// Secret is a password. It prints as ***.
type Secret = secret.Text
