package mess_test

import (
	"slices"
	"testing"

	"github.com/messkit/messkit/mess"
)

func TestItemsOf(t *testing.T) {
	first, second := &mess.Response{Notes: "first"}, &mess.Response{Notes: "second"}
	messages := []mess.Message{
		{Ref: "a", Items: []mess.Item{&mess.Status{Code: mess.Completed}, first}},
		{Ref: "b"},
		{Ref: "c", Items: []mess.Item{second}},
	}

	var refs []string
	var found []*mess.Response
	for m, r := range mess.ItemsOf[*mess.Response](messages) {
		refs, found = append(refs, m.Ref), append(found, r)
	}
	if !slices.Equal(refs, []string{"a", "c"}) || !slices.Equal(found, []*mess.Response{first, second}) {
		t.Errorf("the responses are %v of the messages %v", found, refs)
	}
	for _, r := range mess.ItemsOf[*mess.Response](messages) {
		if r != first {
			t.Error("the loop goes on after its break")
		}
		break
	}
}

func TestLastStatus(t *testing.T) {
	messages := []mess.Message{
		{Ref: "a", Items: []mess.Item{&mess.Status{Code: mess.Claimed}}},
		{Ref: "b", Items: []mess.Item{&mess.Status{Code: mess.InProgress}, &mess.Status{Code: mess.Completed}, &mess.Response{}}},
		{Ref: "c", Items: []mess.Item{&mess.Ack{}}},
	}
	if s, in := mess.LastStatus(messages); s == nil || s.Code != mess.Completed || in.Ref != "b" {
		t.Errorf("the last status is %v of the message %q", s, in.Ref)
	}
	if s, in := mess.LastStatus(messages[2:]); s != nil || in.Ref != "" {
		t.Errorf("messages without a status have the status %v of the message %q", s, in.Ref)
	}
}
