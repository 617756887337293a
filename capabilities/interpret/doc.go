// Package interpret turns the words of a request into exactly one plan, a question, or a
// refusal with a reason. It is pure: an interpreter depends only on its data and on the
// arguments of a call.
package interpret
