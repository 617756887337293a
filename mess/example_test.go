package mess_test

import (
	"fmt"

	"github.com/messkit/messkit/mess"
)

func ExampleParse() {
	m, err := mess.Parse([]byte("request: {id: lamp-1, intent: turn on the porch light, needed_by: 2026-12-01T18:00:00Z}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, item := range m.Items {
		if r, ok := item.(*mess.Request); ok {
			fmt.Println(r.Intent)
		}
	}
	// Output: turn on the porch light
}

func ExampleStep() {
	fmt.Println(mess.Step(mess.Claimed, mess.InProgress, mess.ByExecutor))
	fmt.Println(mess.Step(mess.Completed, mess.InProgress, mess.ByExecutor) != nil)
	// Output:
	// <nil>
	// true
}
