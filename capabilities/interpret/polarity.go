package interpret

// agreeing takes the "not" out of a question that looks for a yes: "isn't the fan on?"
// asks what "is the fan on?" asks.
func (x *request) agreeing() {
	if t := x.Tokens; x.IsQuestion && len(t) > 2 && t[1].Text == "not" && (t[0].Text == "is" || t[0].Text == "are" || t[0].Text == "did" || t[0].Text == "does" || t[0].Text == "has" || t[0].Text == "have") {
		x.Tokens = append(t[:1:1], t[2:]...)
	}
}
