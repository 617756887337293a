package jetstream

// SetNewest sets the newest format that this program knows, and returns the one before.
func SetNewest(n string) (before string) {
	before, newest = newest, n
	return before
}
