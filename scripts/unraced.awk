# Prints the names of the tests that start a browser, or calculate, with | between them, from the
# test files of cmd/messkit.
/^func / { name = "" }
/^func Test/ { name = substr($2, 1, index($2, "(") - 1) }
name && /startMesskit\(|startMesskitWith\(|startCommand\(|calculates\(t\)/ {
	printf "%s%s", between, name
	between = "|"
	name = ""
}
