package exchange

// suggestedAs finds a thread by the id of a suggestion, for those who may answer it.
func (x *Exchange) suggestedAs(who Actor, id string) (string, bool) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	found := ""
	for ref, l := range x.open.suggested[id] {
		if (l.env.Requestor == who.ID || who.Has(Operator)) && l.env.Suggestion(id) != "" {
			if found != "" {
				return "", false // two have the same
			}
			found = ref
		}
	}
	return found, found != ""
}
