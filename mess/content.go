package mess

// Entry is one piece of request context or response content (MESS 1.0 section 2, 1.1
// section 3). It stores the short or long form as written; its methods interpret it.
type Entry struct {
	Type  string // "" for a bare string, else image, file, location, ...
	Value any    // string, bool, Number, []any or Object, as written
	Extra Object // further keys next to the type
}

// Media is the content of an image, audio, video or file entry. Short form: only the URI
// (http, https, file, data or content).
type Media struct {
	URI      string `mess:"uri"`
	File     string `mess:"file"`     // name of an attachment (MESSE-AF 2.1)
	Resource string `mess:"resource"` // content:// (MESSE-AF 2.1)
	Name     string `mess:"name"`
	MIME     string `mess:"mime"`
	Size     *int64 `mess:"size"`   // bytes
	SHA256   string `mess:"sha256"` // hex; messkit extension
	// CapturedAt is the capture time (messkit extension); the file itself contains no
	// metadata.
	CapturedAt Time   `mess:"captured_at"`
	Extra      Object `mess:"*"`
}

// Location is a position or an address (MESS 1.1 section 3.2).
type Location struct {
	Lat         *float64 `mess:"lat"`      // degrees north
	Lng         *float64 `mess:"lng"`      // degrees east
	Accuracy    *float64 `mess:"accuracy"` // meters
	Altitude    *float64 `mess:"altitude"` // meters
	Name        string   `mess:"name"`
	Address     string   `mess:"address"`
	Description string   `mess:"description"`
	Extra       Object   `mess:"*"`
}

// Confirmation is a yes or no (MESS 1.1 section 3.3). Short form: the boolean.
type Confirmation struct {
	Confirmed bool   `mess:"confirmed"`
	Details   string `mess:"details"`
	Extra     Object `mess:"*"`
}

// ErrorContent is the content of an error entry (MESS 1.0 section 2.2).
type ErrorContent struct {
	Code    string `mess:"code"`
	Message string `mess:"message"`
	Detail  any    `mess:"detail"`
	Extra   Object `mess:"*"`
}
