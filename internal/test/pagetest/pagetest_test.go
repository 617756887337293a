package pagetest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/internal/test/pagetest"
)

func TestCompare(t *testing.T) {
	const page = `# A page

- **Not a difference.** It is above the heading.

## Differences from the document that stay

### Part

- **One.** It has a test.
- **Two.** It has none,
  on two lines.
- **One.** The name is there twice.
- Three has no name.

## Another section

- **Not a difference.** It is below the list.
`
	names, problems := pagetest.Compare(page, []string{"Four", "One"})
	if d := cmp.Diff([]string{"One", "Two"}, names); d != "" {
		t.Error(d)
	}
	want := []string{
		`"Two" has no test`,
		`"**One.** The name is there twice." does not begin with a bold name of its own`,
		`"Three has no name." does not begin with a bold name of its own`,
		`"Four" has a test, but is not on the page`,
	}
	if d := cmp.Diff(want, problems); d != "" {
		t.Error(d)
	}
}
