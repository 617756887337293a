// Package interpret turns the words of a request into exactly one plan, a question, or a
// refusal with a reason. It is pure: an interpreter is made from data and answers from its
// arguments alone.
package interpret
