package output

// Version is the newest release in CHANGELOG.md. `make build VERSION=...` sets another.
var Version = "0.9.0"
